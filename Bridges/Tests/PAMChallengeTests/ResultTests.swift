import PAMChallenge
import Testing

@Suite("What the module returns, and when it stands aside")
struct ResultTests {
    @Test("PM-8, PM-21: what is not three misses hands over to the password")
    func othersHandOver() {
        // Cancel, Use Password, displaced, locked out, context gone, no agent; a device that is locked.
        for code in [-2, -3, -4, -5, -6, -7, -8, -9, -10, -1004, -1009, 0, 1] {
            #expect(SigningFailure(error: "Failed", code: code, status: -25293).result == .unavailable)
        }
        #expect(SigningFailure(error: "Failed", code: nil, status: -25308).result == .unavailable)
        #expect(SigningFailure(error: "NoSuchClient", code: nil, status: nil).result == .unavailable)
        #expect(SigningFailure(error: "PermissionDenied", code: -1, status: nil).result == .unavailable)
    }

    @Test("PM-8: three misses count as somebody else")
    func missesCount() {
        #expect(SigningFailure(error: "Failed", code: -1, status: -25293).result == .authenticationFailed)
    }

    @Test("PM-4: a key that is not this device's any more is nobody's")
    func deadKeysAreNobodys() {
        #expect(SigningFailure(error: "Invalidated", code: nil, status: nil).result == .userUnknown)
        #expect(SigningFailure(error: "Failed", code: nil, status: -25300).result == .userUnknown)
        #expect(SigningFailure(error: "Failed", code: nil, status: -26275).result == .userUnknown)
    }

    @Test("PM-10: the owner is asked where nothing stands in the way")
    func ownerIsAsked() { #expect(Surroundings().obstacle(.init(), unlocks: false) == nil) }

    @Test(
        "PM-10: it stands aside for each obstacle",
        arguments: [
            { $0.isSimulated = true }, { $0.isRemote = true }, { $0.hasAgent = false }, { $0.isPasscodeSet = false },
            { $0.isLidClosed = true }, { $0.isLocked = true },
        ] as [@Sendable (inout Surroundings) -> Void])
    func standsAside(change: @Sendable (inout Surroundings) -> Void) {
        var surroundings = Surroundings()
        change(&surroundings)
        #expect(surroundings.obstacle(.init(), unlocks: false) != nil)
    }

    @Test("PM-10: options and the mode unlock take an obstacle away")
    func optionsTakeObstaclesAway() {
        var surroundings = Surroundings()
        surroundings.isEnrolled = false
        #expect(surroundings.obstacle(.init(), unlocks: false) == nil)
        #expect(surroundings.obstacle(.init(takesPasscode: false), unlocks: false) != nil)
        surroundings = Surroundings()
        surroundings.isLidClosed = true
        #expect(surroundings.obstacle(.init(usesReaderBehindLid: true), unlocks: false) == nil)
        surroundings = Surroundings()
        surroundings.isLocked = true
        #expect(surroundings.obstacle(.init(), unlocks: true) == nil)
    }

    @Test("PM-10: another machine is told from this one")
    func machinesAreToldApart() {
        for own in ["", "localhost", "127.0.0.1", "::1", "here"] { #expect(!Surroundings.isRemote(own, own: "here")) }
        for other in ["there", "192.0.2.1", "localhost.example", " ", "127.0.0.1.example"] {
            #expect(Surroundings.isRemote(other, own: "here"))
        }
        #expect(Surroundings.isRemote("x", own: ""))
    }

    @Test("PM-10: the lid is closed if the kernel says so")
    func lidIsRead() {
        #expect(Surroundings.isClosed(lidState: "state:      closed\n"))
        #expect(!Surroundings.isClosed(lidState: "state:      open\n"))
        #expect(!Surroundings.isClosed(lidState: ""))
    }
}
