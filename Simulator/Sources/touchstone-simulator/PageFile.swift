import HTTPTypes
import Hummingbird
import NIOCore

/// One of the page's files, which are inside this program.
struct PageFile: Sendable {
    let type: String
    let content: ByteBuffer

    /// By their names.
    static let all: [String: PageFile] = [
        "index.html": .init("text/html; charset=utf-8", PackageResources.index_html),
        "beside.html": .init("text/html; charset=utf-8", PackageResources.beside_html),
        "beside.css": .init("text/css; charset=utf-8", PackageResources.beside_css),
        "beside.js": .script(PackageResources.beside_js),
        "style.css": .init("text/css; charset=utf-8", PackageResources.style_css),
        "inspector.css": .init("text/css; charset=utf-8", PackageResources.inspector_css),
        "icon.svg": .init("image/svg+xml", PackageResources.icon_svg),
        "main.js": .script(PackageResources.main_js),
        "device.js": .script(PackageResources.device_js),
        "face.js": .script(PackageResources.face_js),
        "alert.js": .script(PackageResources.alert_js),
        "passcode-pad.js": .script(PackageResources.passcode_pad_js),
        "controls.js": .script(PackageResources.controls_js),
        "settings.js": .script(PackageResources.settings_js),
        "inspector.js": .script(PackageResources.inspector_js),
        "inspector-keys.js": .script(PackageResources.inspector_keys_js),
        "inspector-messages.js": .script(PackageResources.inspector_messages_js),
        "inspector-items.js": .script(PackageResources.inspector_items_js),
        "inspector-log.js": .script(PackageResources.inspector_log_js),
        "inspector-part.js": .script(PackageResources.inspector_part_js),
        "inspector-words.js": .script(PackageResources.inspector_words_js),
        "methods.js": .script(PackageResources.methods_js),
        "app-pane.js": .script(PackageResources.app_pane_js),
        "apps.js": .script(PackageResources.apps_js),
        "words.js": .script(PackageResources.words_js),
        "elements.js": .script(PackageResources.elements_js),
    ]

    /// The file of this name.
    ///
    /// - Throws: `Refusal` if there is no such file.
    static func answer(_ name: String) throws(Refusal) -> Response {
        guard let file = all[name] else { throw Refusal(.notFound) }
        return Response(status: .ok, headers: [.contentType: file.type], body: .init(byteBuffer: file.content))
    }

    private init(_ type: String, _ bytes: [UInt8]) {
        self.type = type
        content = ByteBuffer(bytes: bytes)
    }

    private static func script(_ bytes: [UInt8]) -> PageFile {
        PageFile("text/javascript; charset=utf-8", bytes)
    }
}
