/// What each kind of object has, as D-Bus describes it (SS-1).
enum Introspection {
    private static let start = """
        <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
        <node>
          <interface name="org.freedesktop.DBus.Introspectable">
            <method name="Introspect"><arg name="xml" type="s" direction="out"/></method>
          </interface>
          <interface name="org.freedesktop.DBus.Peer">
            <method name="Ping"/>
            <method name="GetMachineId"><arg name="id" type="s" direction="out"/></method>
          </interface>
          <interface name="org.freedesktop.DBus.Properties">
            <method name="Get">
              <arg name="interface" type="s" direction="in"/><arg name="name" type="s" direction="in"/>
              <arg name="value" type="v" direction="out"/>
            </method>
            <method name="GetAll">
              <arg name="interface" type="s" direction="in"/><arg name="values" type="a{sv}" direction="out"/>
            </method>
            <method name="Set">
              <arg name="interface" type="s" direction="in"/><arg name="name" type="s" direction="in"/>
              <arg name="value" type="v" direction="in"/>
            </method>
            <signal name="PropertiesChanged">
              <arg name="interface" type="s"/><arg name="changed" type="a{sv}"/><arg name="invalidated" type="as"/>
            </signal>
          </interface>

        """

    private typealias Argument = (name: String, type: String)

    private static func method(_ name: String, _ takes: [Argument] = [], gives: [Argument] = []) -> String {
        let lines =
            takes.map { "<arg name=\"\($0.name)\" type=\"\($0.type)\" direction=\"in\"/>" }
            + gives.map { "<arg name=\"\($0.name)\" type=\"\($0.type)\" direction=\"out\"/>" }
        return "    <method name=\"\(name)\">\(lines.joined())</method>\n"
    }

    private static func signal(_ name: String, _ arguments: [Argument]) -> String {
        let lines = arguments.map { "<arg name=\"\($0.name)\" type=\"\($0.type)\"/>" }
        return "    <signal name=\"\(name)\">\(lines.joined())</signal>\n"
    }

    private static func property(_ name: String, _ type: String, _ access: String = "read") -> String {
        "    <property name=\"\(name)\" type=\"\(type)\" access=\"\(access)\"/>\n"
    }

    private static let secret = "(oayays)"

    /// The description of the portal's object (PO-1).
    static let portal =
        "\(start)  <interface name=\"\(SecretService.Portal.interface)\">\n"
        + method(
            "RetrieveSecret", [("handle", "o"), ("app_id", "s"), ("fd", "h"), ("options", "a{sv}")],
            gives: [("response", "u"), ("results", "a{sv}")])
        + property("version", "u") + "  </interface>\n</node>\n"

    /// The description of an object.
    static func text(of object: SecretService.Object) -> String {
        "\(start)  <interface name=\"\(object.interface)\">\n\(members(object).joined())  </interface>\n</node>\n"
    }

    private static func members(_ object: SecretService.Object) -> [String] {
        switch object {
        case .service:
            [
                method(
                    "OpenSession", [("algorithm", "s"), ("input", "v")], gives: [("output", "v"), ("result", "o")]),
                method(
                    "CreateCollection", [("properties", "a{sv}"), ("alias", "s")],
                    gives: [("collection", "o"), ("prompt", "o")]),
                method(
                    "SearchItems", [("attributes", "a{ss}")], gives: [("unlocked", "ao"), ("locked", "ao")]),
                method("Unlock", [("objects", "ao")], gives: [("unlocked", "ao"), ("prompt", "o")]),
                method("Lock", [("objects", "ao")], gives: [("locked", "ao"), ("prompt", "o")]),
                method(
                    "GetSecrets", [("items", "ao"), ("session", "o")], gives: [("secrets", "a{o\(secret)}")]),
                method("ReadAlias", [("name", "s")], gives: [("collection", "o")]),
                method("SetAlias", [("name", "s"), ("collection", "o")]),
                signal("CollectionCreated", [("collection", "o")]),
                signal("CollectionDeleted", [("collection", "o")]),
                signal("CollectionChanged", [("collection", "o")]),
                property("Collections", "ao"),
            ]
        case .collection:
            [
                method("Delete", gives: [("prompt", "o")]),
                method("SearchItems", [("attributes", "a{ss}")], gives: [("results", "ao")]),
                method(
                    "CreateItem", [("properties", "a{sv}"), ("secret", secret), ("replace", "b")],
                    gives: [("item", "o"), ("prompt", "o")]),
                signal("ItemCreated", [("item", "o")]), signal("ItemDeleted", [("item", "o")]),
                signal("ItemChanged", [("item", "o")]),
                property("Items", "ao"), property("Label", "s", "readwrite"), property("Locked", "b"),
                property("Created", "t"), property("Modified", "t"),
            ]
        case .item:
            [
                method("Delete", gives: [("prompt", "o")]),
                method("GetSecret", [("session", "o")], gives: [("secret", secret)]),
                method("SetSecret", [("secret", secret)]),
                property("Locked", "b"), property("Attributes", "a{ss}", "readwrite"),
                property("Label", "s", "readwrite"), property("Type", "s", "readwrite"), property("Created", "t"),
                property("Modified", "t"),
            ]
        case .session: [method("Close")]
        case .prompt:
            [
                method("Prompt", [("window-id", "s")]), method("Dismiss"),
                signal("Completed", [("dismissed", "b"), ("result", "v")]),
            ]
        }
    }
}
