import Foundation
import Testing

@testable import TouchstoneCircle

@Suite("Joining by digits that nobody can search for (SY-10)")
struct JoiningTests {
    let laptop = TestMember("laptop")
    let desktop = TestMember("desktop")

    private func applicant(_ member: TestMember) throws -> Applicant {
        try #require(Applicant(member.identity, named: member.name, random: random))
    }

    private func challenge(_ chain: CircleChain, _ application: JoinApplication, by approver: TestMember)
        -> JoinChallenge
    {
        JoinChallenge(to: application, circle: chain.circle, approver: approver.id, number: random(32))
    }

    @Test func bothSidesShowTheSameDigits() throws {
        let chain = try laptop.found()
        var applicant = try applicant(desktop)
        let application = try JoinApplication(applicant.application.bytes)
        #expect(application == applicant.application)
        let challenge = try JoinChallenge(challenge(chain, application, by: laptop).bytes)
        let answer = applicant.reveal(to: challenge)
        let revealed = try #require(answer)
        let digits = try #require(JoinDigits(application, challenge, number: revealed.number))
        #expect(digits == revealed.digits)
        #expect(digits.description.count == 6)
        let isAllDigits = digits.description.allSatisfy(\.isNumber)
        #expect(isAllDigits)
        let joined = try chain.with(laptop.adding(desktop, to: chain))
        #expect(applicant.isJoined(to: joined))
        #expect(!applicant.isJoined(to: chain))
    }

    @Test func aSecondChallengeGetsNoAnswer() throws {
        let chain = try laptop.found()
        var applicant = try applicant(desktop)
        let first = challenge(chain, applicant.application, by: laptop)
        let second = challenge(chain, applicant.application, by: laptop)
        let answer = applicant.reveal(to: first)
        #expect(answer != nil)
        let another = applicant.reveal(to: second)
        #expect(another == nil)
        // The same one again does, because answers get lost.
        let again = applicant.reveal(to: first)
        #expect(again?.digits == answer?.digits)
    }

    @Test func aNumberThatWasNotCommittedToGivesNoDigits() throws {
        let chain = try laptop.found()
        let application = try applicant(desktop).application
        let challenge = challenge(chain, application, by: laptop)
        #expect(JoinDigits(application, challenge, number: random(32)) == nil)
        #expect(JoinDigits(application, challenge, number: Data()) == nil)
        // With another device's application the digest that the passcode is sealed for is another.
        let other = try applicant(TestMember("desktop")).application
        let number = random(32)
        #expect(
            JoinDigits.digest(application, challenge, number: number)
                != JoinDigits.digest(other, challenge, number: number))
    }

    @Test func aManInTheMiddleHasOneTryInAMillion() throws {
        // He stands between both: his own application towards the circle, his own challenge towards the device. He has fixed his numbers
        // before he hears theirs, so that the digits are equal by chance.
        let chain = try laptop.found()
        var equal = 0
        for _ in 0..<200 {
            var victim = try applicant(desktop)
            let middle = TestMember("desktop")
            let his = try applicant(middle)
            let towardsVictim = challenge(chain, victim.application, by: middle)
            let fromCircle = challenge(chain, his.application, by: laptop)
            var hisSide = his
            guard let shownThere = victim.reveal(to: towardsVictim), let shownHere = hisSide.reveal(to: fromCircle)
            else {
                Issue.record("no digits")
                return
            }
            if shownThere.digits == shownHere.digits { equal += 1 }
        }
        #expect(equal <= 1)
    }

    @Test func aDeviceDoesNotJoinAnotherCircleThanTheOneWhoseDigitsItShowed() throws {
        let chain = try laptop.found()
        var applicant = try applicant(desktop)
        let answer = applicant.reveal(to: challenge(chain, applicant.application, by: laptop))
        #expect(answer != nil)
        let stranger = TestMember("laptop")
        let strangers = try stranger.found()
        let lured = try strangers.with(stranger.adding(desktop, to: strangers))
        #expect(!applicant.isJoined(to: lured))
        // Nor by a member other than the approver.
        let other = TestMember("other")
        let grown = try chain.with(laptop.adding(other, to: chain))
        let byOther = try grown.with(other.adding(desktop, to: grown))
        #expect(!applicant.isJoined(to: byOther))
        // Nor under another name than the owner saw.
        let renamed = try chain.adding(
            desktop.identity, named: "phone", by: laptop.id, keys: laptop.keys(chain), sign: laptop.sign)
        let underAnotherName = try chain.with(renamed)
        #expect(!applicant.isJoined(to: underAnotherName))
    }

    @Test func malformedApplicationsAndChallengesAreRefused() throws {
        let chain = try laptop.found()
        let application = try applicant(desktop).application
        let challenge = challenge(chain, application, by: laptop)
        for count in 0..<application.bytes.count {
            #expect(throws: MalformedBytes.self) { try JoinApplication(application.bytes.prefix(count)) }
        }
        #expect(throws: MalformedBytes.self) { try JoinApplication(application.bytes + Data([0])) }
        for count in 0..<challenge.bytes.count {
            #expect(throws: MalformedBytes.self) { try JoinChallenge(challenge.bytes.prefix(count)) }
        }
        // Keys that are no points.
        var bytes = application.bytes
        bytes.replaceSubrange(1..<65, with: Data(repeating: 0xFF, count: 64))
        #expect(throws: MalformedBytes.self) { try JoinApplication(bytes) }
        #expect(MemberID(hexadecimal: laptop.id.description) == laptop.id)
        #expect(MemberID(hexadecimal: "+f" + laptop.id.description.dropFirst(2)) == nil)
        #expect(MemberID(hexadecimal: laptop.id.description.dropLast()) == nil)
    }
}
