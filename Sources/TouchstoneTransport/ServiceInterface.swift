import TouchstoneCore

/// `org.varlink.service`: introspection.
enum ServiceInterface {
    enum GetInfo: VarlinkMethod {
        static let name = "org.varlink.service.GetInfo"
        typealias Parameters = Empty
        struct Reply: Codable, Sendable {
            var vendor: String
            var product: String
            var version: String
            var url: String
            var interfaces: [String]
        }
    }

    enum GetInterfaceDescription: VarlinkMethod {
        static let name = "org.varlink.service.GetInterfaceDescription"
        struct Parameters: Codable, Sendable { var interface: String }
        struct Reply: Codable, Sendable { var description: String }
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
