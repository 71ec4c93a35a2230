// Written by script/interfaces from the interface files. Do not edit.
// swift-format-ignore-file

internal import Foundation

extension Accessibility: MessageEnumeration {
    package static var words: [String] { ["ak", "ck", "dk", "aku", "cku", "dku", "akpu"] }
}

extension AccessControl: MessageCodable {
    package init(from json: MessageDecoder) throws {
        try json.checkIsObject()
        try self.init(
            protection: json.value("protection"),
            flags: json.value("flags"))
    }

    package func write(to json: inout JSONOutput) throws {
        json.beginObject()
        try json.write(protection, for: "protection")
        try json.write(flags, for: "flags")
        json.endObject()
    }
}

extension ProcessOrigin.Ancestor: MessageCodable {
    package init(from json: MessageDecoder) throws {
        try json.checkIsObject()
        try self.init(
            processID: json.value("processID"),
            executable: json.valueIfPresent("executable"),
            name: json.value("name"))
    }

    package func write(to json: inout JSONOutput) throws {
        json.beginObject()
        try json.write(processID, for: "processID")
        try json.write(executable, for: "executable")
        try json.write(name, for: "name")
        json.endObject()
    }
}

extension AppIdentity: MessageCodable {
    package init(from json: MessageDecoder) throws {
        try json.checkIsObject()
        try self.init(
            identifier: json.value("identifier"),
            evidence: json.value("evidence"),
            name: json.value("name"),
            processID: json.value("processID"),
            userID: json.value("userID"),
            executableDigest: json.valueIfPresent("executableDigest"))
    }

    package func write(to json: inout JSONOutput) throws {
        json.beginObject()
        try json.write(identifier, for: "identifier")
        try json.write(evidence, for: "evidence")
        try json.write(name, for: "name")
        try json.write(processID, for: "processID")
        try json.write(userID, for: "userID")
        try json.write(executableDigest, for: "executableDigest")
        json.endObject()
    }
}

extension AttributeValue: MessageCodable {
    package init(from json: MessageDecoder) throws {
        try json.checkIsObject()
        if let value: String = try json.valueIfPresent("string") {
            self = .string(value)
        } else if let value: Data = try json.valueIfPresent("data") {
            self = .data(value)
        } else if let value: Int64 = try json.valueIfPresent("number") {
            self = .number(value)
        } else if let value: Bool = try json.valueIfPresent("boolean") {
            self = .boolean(value)
        } else if let value: Double = try json.valueIfPresent("date") {
            self = .date(value)
        } else if let value: Double = try json.valueIfPresent("real") {
            self = .real(value)
        } else if let value: AccessControl = try json.valueIfPresent("accessControl") {
            self = .accessControl(value)
        } else {
            throw json.corrupted("no field")
        }
    }

    package func write(to json: inout JSONOutput) throws {
        json.beginObject()
        switch self {
        case .string(let value): try json.write(value, for: "string")
        case .data(let value): try json.write(value, for: "data")
        case .number(let value): try json.write(value, for: "number")
        case .boolean(let value): try json.write(value, for: "boolean")
        case .date(let value): try json.write(value, for: "date")
        case .real(let value): try json.write(value, for: "real")
        case .accessControl(let value): try json.write(value, for: "accessControl")
        }
        json.endObject()
    }
}

extension BackupDirection: MessageEnumeration {
    package static var words: [String] { ["export", "import"] }
}

extension AppIdentity.Evidence: MessageEnumeration {
    package static var words: [String] { ["flatpak", "snap", "systemdUnit", "executable", "process"] }
}

extension LogHead: MessageCodable {
    package init(from json: MessageDecoder) throws {
        try json.checkIsObject()
        try self.init(
            sequence: json.value("sequence"),
            code: json.value("code"))
    }

    package func write(to json: inout JSONOutput) throws {
        json.beginObject()
        try json.write(sequence, for: "sequence")
        try json.write(code, for: "code")
        json.endObject()
    }
}

extension PasscodeKind: MessageEnumeration {
    package static var words: [String] { ["fourDigit", "sixDigit", "numeric", "alphanumeric"] }
}

extension ProcessOrigin.Place: MessageEnumeration {
    package static var words: [String] { ["local", "remote", "unknown"] }
}

extension ProcessOrigin: MessageCodable {
    package init(from json: MessageDecoder) throws {
        try json.checkIsObject()
        try self.init(
            ancestors: json.value("ancestors"),
            terminal: json.valueIfPresent("terminal"),
            session: json.valueIfPresent("session"),
            place: json.value("place"),
            remote: json.valueIfPresent("remote"))
    }

    package func write(to json: inout JSONOutput) throws {
        json.beginObject()
        try json.write(ancestors, for: "ancestors")
        try json.write(terminal, for: "terminal")
        try json.write(session, for: "session")
        try json.write(place, for: "place")
        try json.write(remote, for: "remote")
        json.endObject()
    }
}

extension Proof: MessageEnumeration {
    package static var words: [String] { ["presence", "biometryAny", "biometryCurrentSet", "passcode", "companion"] }
}

extension Requirement: MessageCodable {
    package init(from json: MessageDecoder) throws {
        try json.checkIsObject()
        try self.init(
            proofs: json.value("proofs"),
            anyOne: json.value("anyOne"))
    }

    package func write(to json: inout JSONOutput) throws {
        json.beginObject()
        try json.write(proofs, for: "proofs")
        try json.write(anyOne, for: "anyOne")
        json.endObject()
    }
}

extension SealedPasscode: MessageCodable {
    package init(from json: MessageDecoder) throws {
        try json.checkIsObject()
        try self.init(
            encapsulatedKey: json.value("encapsulatedKey"),
            ciphertext: json.value("ciphertext"),
            key: json.valueIfPresent("key"))
    }

    package func write(to json: inout JSONOutput) throws {
        json.beginObject()
        try json.write(encapsulatedKey, for: "encapsulatedKey")
        try json.write(ciphertext, for: "ciphertext")
        try json.write(key, for: "key")
        json.endObject()
    }
}
