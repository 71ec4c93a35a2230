import TouchstoneCore

/// `org.varlink.service`: introspection.
enum ServiceInterface {
    enum GetInfo: VarlinkMethod {
        static let name = "org.varlink.service.GetInfo"
        typealias Parameters = Empty
        struct Reply: MessageCodable {
            var vendor: String
            var product: String
            var version: String
            var url: String
            var interfaces: [String]
        }
    }

    enum GetInterfaceDescription: VarlinkMethod {
        static let name = "org.varlink.service.GetInterfaceDescription"
        struct Parameters: MessageCodable { var interface: String }
        struct Reply: MessageCodable { var description: String }
    }

    static let description = """
        # The Varlink service interface: who answers here, and with what.
        interface org.varlink.service

        # The service, and the names of its interfaces.
        method GetInfo() -> (
          vendor: string,
          product: string,
          version: string,
          url: string,
          interfaces: []string
        )

        # The text of one interface file.
        method GetInterfaceDescription(interface: string) -> (description: string)

        error InterfaceNotFound (interface: string)
        error MethodNotFound (method: string)
        error MethodNotImplemented (method: string)
        error InvalidParameter (parameter: string)
        # The service does not know the program at the other end, or it is no longer the one that connected: then the
        # connection is closed, too.
        error PermissionDenied ()
        error ExpectedMore ()

        """

    static func interface(_ info: VarlinkRouter.Info, describing others: [VarlinkInterface]) -> VarlinkInterface {
        let name = "org.varlink.service"
        let names = [name] + others.map(\.name)
        let descriptions = Dictionary(uniqueKeysWithValues: others.map { ($0.name, $0.description) })
            .merging([name: description]) { mine, _ in mine }
        return VarlinkInterface(
            name: name, description: Array(description.utf8),
            handlers: [
                .method(GetInfo.self) { _, _ in
                    GetInfo.Reply(
                        vendor: info.vendor, product: info.product, version: info.version, url: info.url,
                        interfaces: names)
                },
                .method(GetInterfaceDescription.self) { parameters, _ in
                    guard let text = descriptions[parameters.interface] else {
                        throw VarlinkServiceError.InterfaceNotFound(interface: parameters.interface)
                    }
                    return GetInterfaceDescription.Reply(description: text)
                },
            ])
    }
}

// The standard's interface is described above and not by a file: its messages are read and written by hand.

extension ServiceInterface.GetInfo.Reply {
    init(from json: MessageDecoder) throws {
        try json.checkIsObject()
        self.init(
            vendor: try json.value("vendor"), product: try json.value("product"), version: try json.value("version"),
            url: try json.value("url"), interfaces: try json.value("interfaces"))
    }

    func write(to json: inout JSONOutput) throws {
        json.beginObject()
        try json.write(vendor, for: "vendor")
        try json.write(product, for: "product")
        try json.write(version, for: "version")
        try json.write(url, for: "url")
        try json.write(interfaces, for: "interfaces")
        json.endObject()
    }
}

extension ServiceInterface.GetInterfaceDescription.Parameters {
    init(from json: MessageDecoder) throws {
        try json.checkIsObject()
        self.init(interface: try json.value("interface"))
    }

    func write(to json: inout JSONOutput) throws { try ["interface": interface].write(to: &json) }
}

extension ServiceInterface.GetInterfaceDescription.Reply {
    init(from json: MessageDecoder) throws {
        try json.checkIsObject()
        self.init(description: try json.value("description"))
    }

    func write(to json: inout JSONOutput) throws { try ["description": description].write(to: &json) }
}
