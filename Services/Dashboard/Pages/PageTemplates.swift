import Foundation
import HTTPTypes
import Hummingbird
import Mustache
import NIOCore

/// The templates of the web folder, and the path of its assets.
struct PageTemplates: Sendable {
    private let library: MustacheLibrary
    /// `/assets/` and the hash of all assets.
    let assets: String

    enum Failure: Error, CustomStringConvertible {
        case unreadable(folder: String)
        case unknown(template: String)

        var description: String {
            switch self {
            case .unreadable(let folder): "no templates in \(folder); compose/build makes this folder"
            case .unknown(let template): "no template '\(template)'"
            }
        }
    }

    /// - Parameter folder: the folder that `compose/web.sh` makes.
    init(folder: String) throws {
        let templates = URL(filePath: folder).appending(path: "templates")
        guard let version = try? String(contentsOfFile: "\(folder)/version", encoding: .utf8),
            let files = try? FileManager.default.contentsOfDirectory(at: templates, includingPropertiesForKeys: nil)
        else { throw Failure.unreadable(folder: folder) }
        var library = MustacheLibrary()
        for file in files where file.pathExtension == "mustache" {
            let text = try String(contentsOf: file, encoding: .utf8)
            try library.register(text, named: file.deletingPathExtension().lastPathComponent)
        }
        self.library = library
        assets = "/assets/\(version.trimmingCharacters(in: .whitespacesAndNewlines))"
    }

    /// A page for one reader: no shared cache may keep it.
    func response(
        _ page: some Sendable, template: String, status: HTTPResponse.Status = .ok
    ) throws -> Response {
        guard let html = library.render(page, withTemplate: template) else {
            throw Failure.unknown(template: template)
        }
        return Response(
            status: status, headers: [.contentType: "text/html; charset=utf-8", .cacheControl: "private, no-cache"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: html)))
    }
}

/// What every page shows around its content.
struct PageFrame: Sendable {
    let title: String
    let assets: String
    /// The user who is signed in.
    let login: String
    /// The module that runs the page.
    let module: String
    let homeIcon: String
    var hasMap = false
    /// Whether the menu leads to the reader's plans.
    var hasPlans = false
}
