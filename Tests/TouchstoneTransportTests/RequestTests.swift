import Foundation
import Testing
import TouchstoneCore

@testable import TouchstoneTransport

/// What is answered to requests that are not as they should be.
@Suite struct RequestTests {
    // MARK: not a request: nothing to answer

    @Test(
        arguments: [
            "", "\0", "{", "}", "nonsense", "\"text\"", "1", "null", "true", "[]", "[{}]", "{}", "{\"method\":1}",
            "{\"method\":null}", "{\"parameters\":{}}", "{\"method\":\"test.Probe.Echo\"",
            "{\"method\":\"test.Probe.Echo\",\"more\":1}", "{\"method\":\"test.Probe.Echo\",\"oneway\":\"yes\"}",
            "{'method':'test.Probe.Echo'}", "{\"method\":\"test.Probe.Echo\"}{}", "{\"method\":\"\\ud800\"}",
        ])
    func whatIsNoRequestClosesTheConnection(_ text: String) throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            client.send(frame: text)
            #expect(client.isClosedByServer())
        }
    }

    @Test(
        arguments: [
            [0xFF, 0xFE, 0x00], [0xC3, 0x28, 0x00], [0x80, 0x00], [0xED, 0xA0, 0x80, 0x00],
            Array("{\"method\":\"test.Probe.".utf8) + [0xC0, 0xAF] + Array("\"}".utf8) + [0x00],
        ] as [[UInt8]])
    func whatIsNotUTF8ClosesTheConnection(_ bytes: [UInt8]) throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            client.send(bytes)
            #expect(client.isClosedByServer())
        }
    }

    @Test func textThatIsNotUTF8IsNeverEchoed() throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            client.send(
                Array(#"{"method":"test.Probe.Echo","parameters":{"text":""#.utf8) + [0xFF, 0xFE]
                    + Array(#""}}"#.utf8) + [0])
            let isRefused = (try? client.receive()).map { $0.error != nil } ?? true
            #expect(isRefused)
        }
    }

    @Test(arguments: ["[", "{\"a\":", "[{\"a\":"], [100, 600, 100_000])
    func deepNestingDoesNotBringTheServerDown(_ opening: String, _ depth: Int) throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let nested = String(repeating: opening, count: depth)
            for frame in [
                nested, #"{"method":"test.Probe.Echo","parameters":{"text":"a","extra":"# + nested + "}}",
                #"{"method":"test.Probe.Echo","parameters":"# + nested,
            ] {
                let client = try server.connect()
                client.send(frame: frame)
                #expect(client.isClosedByServer())
            }
        }
    }

    @Test(arguments: [10, 400, 513, 20_000])
    func deepNestingThatIsWholeDoesNotBringTheServerDown(_ depth: Int) throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let nested = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            let client = try server.connect()
            client.send(frame: #"{"method":"test.Probe.Echo","parameters":{"text":"a","extra":\#(nested)}}"#)
            do {
                #expect(try client.receive().parameter("text") == "a")
            } catch RawClient.Failure.closed {
                #expect(depth > 500)
            }
        }
    }

    // MARK: a request that nobody answers

    @Test(
        arguments: [
            ("test.Probe.Nothing", "MethodNotFound", "method", "test.Probe.Nothing"),
            ("test.Probe.echo", "MethodNotFound", "method", "test.Probe.echo"),
            ("test.Other.Echo", "InterfaceNotFound", "interface", "test.Other"),
            ("test.Probe", "InterfaceNotFound", "interface", "test"),
            ("Echo", "InterfaceNotFound", "interface", ""),
            ("", "InterfaceNotFound", "interface", ""),
            ("org.varlink.service.Nothing", "MethodNotFound", "method", "org.varlink.service.Nothing"),
        ])
    func whatIsNobodysIsNamed(_ method: String, _ error: String, _ parameter: String, _ value: String) throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            let reply = try client.call(#"{"method":"\#(method)","parameters":{}}"#)
            #expect(reply.error == "org.varlink.service.\(error)")
            #expect(reply.parameter(parameter) == value)
            #expect(try client.echo("after") == "after")
        }
    }

    // MARK: parameters

    @Test(
        arguments: [
            (#"{}"#, "text"),
            (#"{"text":1}"#, "text"),
            (#"{"text":null}"#, "text"),
            (#"{"text":["a"]}"#, "text"),
            (#"{"text":{"a":1}}"#, "text"),
            (#"{"text":"a","number":"1"}"#, "number"),
            (#"{"text":"a","number":1.5}"#, "number"),
            (#"{"text":"a","number":true}"#, "number"),
            (#"{"text":"a","number":9223372036854775808}"#, "number"),
            (#"{"text":"a","number":1e400}"#, "number"),
            (#"{"text":"a","real":1e400}"#, "real"),
            (#"{"text":"a","real":"NaN"}"#, "real"),
            (#"{"text":"a","nested":{}}"#, "nested.flag"),
            (#"{"text":"a","nested":{"flag":1}}"#, "nested.flag"),
            (#"{"text":"a","nested":[]}"#, "nested"),
            (#"{"text":"a","names":{"b":"c"}}"#, "names.b"),
            (#"{"text":"a","names":[1]}"#, "names"),
            (#"{"text":"a","bytes":"not base64!"}"#, "bytes"),
            (#"{"text":"a","bytes":1}"#, "bytes"),
        ])
    func aWrongParameterIsNamed(_ parameters: String, _ name: String) throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            let reply = try client.call(#"{"method":"test.Probe.Echo","parameters":\#(parameters)}"#)
            #expect(reply.error == "org.varlink.service.InvalidParameter")
            #expect(reply.parameter("parameter") == name)
            #expect(try client.echo("after") == "after")
        }
    }

    @Test(arguments: ["[]", "1", "\"text\"", "null"])
    func parametersThatAreNoObjectAreInvalid(_ parameters: String) throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            let reply = try client.call(#"{"method":"test.Probe.Echo","parameters":\#(parameters)}"#)
            #expect(reply.error == "org.varlink.service.InvalidParameter")
            #expect(try client.echo("after") == "after")
        }
    }

    @Test func absentParametersAreAnEmptyObject() throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            let missing = try client.call(#"{"method":"test.Probe.Echo"}"#)
            #expect(missing.error == "org.varlink.service.InvalidParameter")
            #expect(missing.parameter("parameter") == "text")
            #expect(try client.call(#"{"method":"org.varlink.service.GetInfo"}"#).parameter("product") == "probe")
        }
    }

    @Test func unknownParametersAreNoError() throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let reply = try server.connect().call(
                #"{"method":"test.Probe.Echo","parameters":{"text":"a","unknown":[1,{"b":null}]},"unknown":1}"#)
            #expect(reply.parameter("text") == "a")
        }
    }

    @Test(
        arguments: [
            #"{"method":"test.Probe.Echo","method":"test.Probe.Wait","parameters":{"text":"a"}}"#,
            #"{"method":"test.Probe.Echo","parameters":{"text":"a"},"parameters":{"text":"b"}}"#,
            #"{"method":"test.Probe.Echo","parameters":{"text":"a","text":"b"}}"#,
            #"{"method":"test.Probe.Echo","parameters":{"text":"a","text":1}}"#,
        ])
    func duplicateKeysGetAtMostOneAnswer(_ frame: String) throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            client.send(frame: frame)
            client.send(frame: #"{"method":"test.Probe.Echo","parameters":{"text":"after"}}"#)
            do {
                var replies = [try client.receive()]
                if replies[0].parameter("text") != "after" { replies.append(try client.receive()) }
                #expect(replies.last?.parameter("text") == "after")
            } catch RawClient.Failure.closed {
                // Refused as no request: as good.
            }
        }
    }

    @Test(arguments: ["0", "-0", "9223372036854775807", "-9223372036854775808"])
    func theLargestIntegersComeThrough(_ number: String) throws {
        let server = try ProbeServer()
        let reply = try server.connect().call(
            #"{"method":"test.Probe.Echo","parameters":{"text":"a","number":\#(number)}}"#)
        #expect(((reply["parameters"] as? [String: Any])?["number"] as? NSNumber)?.int64Value == Int64(number))
    }

    @Test func aNumberOfManyDigitsIsNoHarm() throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            for number in [String(repeating: "9", count: 500_000), "1e" + String(repeating: "9", count: 500_000)] {
                let client = try server.connect()
                client.send(frame: #"{"method":"test.Probe.Echo","parameters":{"text":"a","number":\#(number)}}"#)
                let isRefused = (try? client.receive()).map { $0.error != nil } ?? true
                #expect(isRefused)
            }
        }
    }

    @Test func escapedNULIsTextAndARawOneEndsTheMessage() throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            #expect(try client.echo(#"a\u0000b"#) == "a\0b")
            client.send(Array("{\"method\":\"test.Probe.Echo\",\"parameters\":{\"text\":\"a\0b\"}}\0".utf8))
            #expect(client.isClosedByServer())
        }
    }

    // MARK: oneway and more

    @Test func onewayIsNotAnsweredWhateverComesOfIt() throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            client.send(frame: #"{"method":"test.Probe.Echo","parameters":{"text":"a"},"oneway":true}"#)
            client.send(frame: #"{"method":"test.Probe.Echo","parameters":{},"oneway":true}"#)
            client.send(frame: #"{"method":"test.Probe.Nothing","oneway":true}"#)
            client.send(frame: #"{"method":"test.Probe.Count","parameters":{"to":3},"oneway":true,"more":true}"#)
            #expect(try client.echo("after") == "after")
        }
    }

    @Test func aStreamGoesOnUntilItsLastReply() throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            client.send(frame: #"{"method":"test.Probe.Count","parameters":{"to":3},"more":true}"#)
            for number in 1...3 {
                let reply = try client.receive()
                #expect((reply["parameters"] as? [String: Any])?["number"] as? Int == number)
                #expect(reply["continues"] as? Bool ?? false == (number < 3))
            }
            #expect(try client.echo("after") == "after")
        }
    }

    @Test func aStreamWithoutMoreIsRefused() throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            let reply = try client.call(#"{"method":"test.Probe.Count","parameters":{"to":3}}"#)
            #expect(reply.error == "org.varlink.service.ExpectedMore")
            #expect(try client.echo("after") == "after")
        }
    }

    @Test func moreIsNoHarmToAMethodWithOneAnswer() throws {
        let server = try ProbeServer()
        try server.besideAnotherClient { _ in
            let client = try server.connect()
            let reply = try client.call(#"{"method":"test.Probe.Echo","parameters":{"text":"a"},"more":true}"#)
            #expect(reply.parameter("text") == "a")
            #expect(reply["continues"] == nil)
        }
    }

    // MARK: introspection

    @Test func theServiceDescribesItself() throws {
        let server = try ProbeServer()
        let client = try server.connect()
        let info = try client.call(#"{"method":"org.varlink.service.GetInfo","parameters":{}}"#)
        #expect(
            (info["parameters"] as? [String: Any])?["interfaces"] as? [String] == ["org.varlink.service", "test.Probe"])
        let text = try client.call(
            #"{"method":"org.varlink.service.GetInterfaceDescription","parameters":{"interface":"test.Probe"}}"#)
        #expect(text.parameter("description") == "interface test.Probe\n")
        let unknown = try client.call(
            #"{"method":"org.varlink.service.GetInterfaceDescription","parameters":{"interface":"test.Other"}}"#)
        #expect(unknown.error == "org.varlink.service.InterfaceNotFound")
        #expect(unknown.parameter("interface") == "test.Other")
    }
}
