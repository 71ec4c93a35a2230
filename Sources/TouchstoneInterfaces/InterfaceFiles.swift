import TouchstoneCore

// The text of each interface file, for GetInterfaceDescription.

extension AgentInterface {
    package static var file: [UInt8] { PackageResources.io_touchstone_Agent_varlink }
}

extension AuthenticationInterface {
    package static var file: [UInt8] { PackageResources.io_touchstone_Authentication_varlink }
}

extension BackupInterface {
    package static var file: [UInt8] { PackageResources.io_touchstone_Backup_varlink }
}

extension DeviceInterface {
    package static var file: [UInt8] { PackageResources.io_touchstone_Device_varlink }
}

extension InspectorInterface {
    package static var file: [UInt8] { PackageResources.io_touchstone_Inspector_varlink }
}

extension KeyInterface {
    package static var file: [UInt8] { PackageResources.io_touchstone_Key_varlink }
}

extension KeychainInterface {
    package static var file: [UInt8] { PackageResources.io_touchstone_Keychain_varlink }
}

extension SyncInterface {
    package static var file: [UInt8] { PackageResources.io_touchstone_Sync_varlink }
}
