import Testing

@testable import touchstone

struct SystemBusTests {
    @Test(arguments: [nil, ""] as [String?]) func theUsualPlaceIsTheDefault(address: String?) {
        #expect(SystemBus.path(address) == "/run/dbus/system_bus_socket")
    }

    @Test func oneSocketWithAPathIsTaken() {
        #expect(SystemBus.path("unix:path=/run/other/bus") == "/run/other/bus")
    }

    @Test(arguments: [
        "tcp:host=a", "unix:path=bus", "unix:path=/a,guid=1", "unix:path=/a;unix:path=/b", "unix:path=/a%20b",
    ])
    func anythingElseIsNoBus(address: String) {
        #expect(SystemBus.path(address) == nil)
    }
}
