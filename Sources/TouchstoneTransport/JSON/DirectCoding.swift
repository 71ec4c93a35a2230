internal import Foundation
internal import TouchstoneCore

/// The JSON of what every keychain call carries, read and written without `Codable`, which costs more than all the rest of a call.
///
/// It is the same JSON: `MessageCodingTests` holds the two against each other, field by field, for every type here.
enum DirectCoding {
    /// nil: to be read through `Decodable`.
    static func read<T>(_ type: T.Type, from json: MessageDecoder) throws -> T? {
        if T.self == Data.self { return try json.data() as? T }
        if T.self == EnclaveInterface.UnwrapKeys.Parameters.self { return try json.unwrapKeysParameters() as? T }
        if T.self == EnclaveInterface.UnwrapKeys.Reply.self { return try json.unwrapKeysReply() as? T }
        if T.self == KeyInterface.Sign.Parameters.self { return try json.signParameters() as? T }
        if T.self == KeyInterface.Sign.Reply.self { return try json.signReply() as? T }
        if T.self == EnclaveInterface.Sign.Parameters.self { return try json.enclaveSignParameters() as? T }
        if T.self == KeychainInterface.CopyMatching.Reply.self { return try json.copyMatchingReply() as? T }
        if T.self == KeychainInterface.Dictionary.self { return try json.attributes() as? T }
        if T.self == KeychainInterface.Item.self { return try json.item() as? T }
        return nil
    }

    /// false: to be written through `Encodable`.
    static func write<T>(_ value: T, to json: inout JSONOutput) throws -> Bool {
        if T.self == Data.self, let data = value as? Data {
            json.write(data)
        } else if T.self == EnclaveInterface.UnwrapKeys.Parameters.self,
            let message = value as? EnclaveInterface.UnwrapKeys.Parameters
        {
            json.write(message)
        } else if T.self == EnclaveInterface.UnwrapKeys.Reply.self,
            let message = value as? EnclaveInterface.UnwrapKeys.Reply
        {
            json.write(message)
        } else if T.self == KeyInterface.Sign.Parameters.self, let message = value as? KeyInterface.Sign.Parameters {
            json.write(message)
        } else if T.self == KeyInterface.Sign.Reply.self, let message = value as? KeyInterface.Sign.Reply {
            json.write(message)
        } else if T.self == EnclaveInterface.Sign.Parameters.self,
            let message = value as? EnclaveInterface.Sign.Parameters
        {
            json.write(message)
        } else if T.self == KeychainInterface.CopyMatching.Reply.self,
            let message = value as? KeychainInterface.CopyMatching.Reply
        {
            try json.write(message)
        } else if T.self == KeychainInterface.Dictionary.self, let attributes = value as? KeychainInterface.Dictionary {
            try json.write(attributes)
        } else if T.self == KeychainInterface.Item.self, let item = value as? KeychainInterface.Item {
            try json.write(item)
        } else {
            return false
        }
        return true
    }
}

extension MessageDecoder {
    fileprivate func attributes() throws -> KeychainInterface.Dictionary {
        var attributes: KeychainInterface.Dictionary = [:]
        try forEachMember { attributes[$0] = try $1.attributeValue() }
        return attributes
    }

    private func attributeValue() throws -> AttributeValue {
        try checkIsObject()
        if let string = self["string"] { return .string(try string.decode(String.self)) }
        if let data = self["data"] { return .data(try data.data()) }
        if let number = self["number"] { return .number(try number.decode(Int64.self)) }
        if let boolean = self["boolean"] { return .boolean(try boolean.decode(Bool.self)) }
        return try AttributeValue(from: self)
    }

    fileprivate func copyMatchingReply() throws -> KeychainInterface.CopyMatching.Reply {
        try checkIsObject()
        return KeychainInterface.CopyMatching.Reply(items: try member("items").array { try $0.item() })
    }

    fileprivate func item() throws -> KeychainInterface.Item {
        try checkIsObject()
        return KeychainInterface.Item(
            attributes: try self["attributes"]?.attributes(), data: try self["data"]?.data(),
            persistentReference: try self["persistentReference"]?.data(),
            certificate: try self["certificate"]?.data(), publicKey: try self["publicKey"]?.data())
    }

    fileprivate func signParameters() throws -> KeyInterface.Sign.Parameters {
        try checkIsObject()
        return KeyInterface.Sign.Parameters(
            key: try member("key").data(), data: try member("data").data(),
            context: try self["context"]?.decode(String.self))
    }

    fileprivate func signReply() throws -> KeyInterface.Sign.Reply {
        try checkIsObject()
        return KeyInterface.Sign.Reply(signature: try member("signature").data())
    }

    fileprivate func enclaveSignParameters() throws -> EnclaveInterface.Sign.Parameters {
        try checkIsObject()
        let use = try member("use")
        try use.checkIsObject()
        return EnclaveInterface.Sign.Parameters(
            use: .init(
                key: try use.member("key").data(), app: try use.member("app").decode(String.self),
                accessGroups: try use.member("accessGroups").array { try $0.decode(String.self) },
                context: try use["context"]?.decode(String.self)),
            data: try member("data").data())
    }

    fileprivate func unwrapKeysParameters() throws -> EnclaveInterface.UnwrapKeys.Parameters {
        try checkIsObject()
        return EnclaveInterface.UnwrapKeys.Parameters(
            items: try member("items").array { try $0.wrappedItem() }, app: try member("app").decode(String.self),
            context: try self["context"]?.decode(String.self))
    }

    fileprivate func unwrapKeysReply() throws -> EnclaveInterface.UnwrapKeys.Reply {
        try checkIsObject()
        return EnclaveInterface.UnwrapKeys.Reply(items: try member("items").array { try $0.openedItem() })
    }

    fileprivate func wrappedItem() throws -> EnclaveInterface.WrappedItem {
        try checkIsObject()
        let binding = try member("binding")
        try binding.checkIsObject()
        return EnclaveInterface.WrappedItem(
            wrappedKey: try member("wrappedKey").data(),
            binding: .init(
                accessGroup: try binding.member("accessGroup").decode(String.self),
                item: try binding.member("item").data()))
    }

    fileprivate func openedItem() throws -> EnclaveInterface.OpenedItem {
        try checkIsObject()
        return EnclaveInterface.OpenedItem(
            state: try member("state").decode(EnclaveInterface.KeyState.self), key: try self["key"]?.data(),
            accessControl: try self["accessControl"]?.decode(AccessControl.self),
            rewrappedKey: try self["rewrappedKey"]?.data())
    }
}

extension JSONOutput {
    fileprivate mutating func write<Element>(
        _ elements: [Element], _ body: (inout JSONOutput, Element) throws -> Void
    ) rethrows {
        try container("[", "]") { json in
            for element in elements {
                json.separate()
                try body(&json, element)
            }
        }
    }

    fileprivate mutating func write(_ attributes: KeychainInterface.Dictionary) throws {
        try container("{", "}") { json in
            for (key, value) in attributes {
                json.key(key)
                try json.container("{", "}") { try $0.write(value) }
            }
        }
    }

    private mutating func write(_ value: AttributeValue) throws {
        switch value {
        case .string(let string):
            key("string")
            write(string)
        case .data(let data):
            key("data")
            write(data)
        case .number(let number):
            key("number")
            write(word: String(number))
        case .real(let real):
            key("real")
            try write(real)
        case .boolean(let boolean):
            key("boolean")
            write(boolean)
        case .date(let date):
            key("date")
            try write(date)
        case .accessControl(let control):
            key("accessControl")
            write(control)
        }
    }

    private mutating func write(_ control: AccessControl) {
        container("{", "}") { json in
            json.key("protection")
            json.write(control.protection.rawValue)
            json.key("flags")
            json.write(word: String(control.flags.rawValue))
        }
    }

    fileprivate mutating func write(_ message: KeychainInterface.CopyMatching.Reply) throws {
        try container("{", "}") { json in
            json.key("items")
            try json.write(message.items) { try $0.write($1) }
        }
    }

    fileprivate mutating func write(_ item: KeychainInterface.Item) throws {
        try container("{", "}") { json in
            if let attributes = item.attributes {
                json.key("attributes")
                try json.write(attributes)
            }
            if let data = item.data {
                json.key("data")
                json.write(data)
            }
            if let reference = item.persistentReference {
                json.key("persistentReference")
                json.write(reference)
            }
            if let certificate = item.certificate {
                json.key("certificate")
                json.write(certificate)
            }
            if let publicKey = item.publicKey {
                json.key("publicKey")
                json.write(publicKey)
            }
        }
    }

    fileprivate mutating func write(_ message: KeyInterface.Sign.Parameters) {
        container("{", "}") { json in
            json.key("key")
            json.write(message.key)
            json.key("data")
            json.write(message.data)
            if let context = message.context {
                json.key("context")
                json.write(context)
            }
        }
    }

    fileprivate mutating func write(_ message: KeyInterface.Sign.Reply) {
        container("{", "}") { json in
            json.key("signature")
            json.write(message.signature)
        }
    }

    fileprivate mutating func write(_ message: EnclaveInterface.Sign.Parameters) {
        container("{", "}") { json in
            json.key("use")
            json.container("{", "}") { json in
                json.key("key")
                json.write(message.use.key)
                json.key("app")
                json.write(message.use.app)
                json.key("accessGroups")
                json.write(message.use.accessGroups) { $0.write($1) }
                if let context = message.use.context {
                    json.key("context")
                    json.write(context)
                }
            }
            json.key("data")
            json.write(message.data)
        }
    }

    fileprivate mutating func write(_ message: EnclaveInterface.UnwrapKeys.Parameters) {
        container("{", "}") { json in
            json.key("items")
            json.write(message.items) { $0.write($1) }
            json.key("app")
            json.write(message.app)
            if let context = message.context {
                json.key("context")
                json.write(context)
            }
        }
    }

    fileprivate mutating func write(_ message: EnclaveInterface.UnwrapKeys.Reply) {
        container("{", "}") { json in
            json.key("items")
            json.write(message.items) { $0.write($1) }
        }
    }

    fileprivate mutating func write(_ item: EnclaveInterface.WrappedItem) {
        container("{", "}") { json in
            json.key("wrappedKey")
            json.write(item.wrappedKey)
            json.key("binding")
            json.container("{", "}") { json in
                json.key("accessGroup")
                json.write(item.binding.accessGroup)
                json.key("item")
                json.write(item.binding.item)
            }
        }
    }

    fileprivate mutating func write(_ item: EnclaveInterface.OpenedItem) {
        container("{", "}") { json in
            json.key("state")
            json.write(item.state.rawValue)
            if let key = item.key {
                json.key("key")
                json.write(key)
            }
            if let control = item.accessControl {
                json.key("accessControl")
                json.write(control)
            }
            if let rewrapped = item.rewrappedKey {
                json.key("rewrappedKey")
                json.write(rewrapped)
            }
        }
    }
}
