import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// Pages, style sheet, modules and images, read once from the folder that `compose/web.sh` makes. They hold no data.
///
/// The addresses of assets begin with a checksum of everything, so a browser keeps them for ever and asks for others after a
/// release. Of pages, and of the modules that other people's apps load, it asks each time whether they have changed.
struct WebFiles: Sendable {
    private struct File {
        let type: String
        let plain: ByteBuffer
        let gzipped: ByteBuffer?
    }

    /// A checksum of all files; `none` without a folder.
    let version: String
    /// What pages hold of styles and scripts, as sources of a Content Security Policy.
    let inline: String
    private let files: [String: File]

    init(folder: String) {
        let line = { (name: String) in Self.read("\(folder)/\(name)").map { String(String(buffer: $0).dropLast()) } }
        version = line("version") ?? "none"
        inline = line("inline") ?? ""
        let paths = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
        files = Dictionary(
            uniqueKeysWithValues: paths.compactMap { path -> (String, File)? in
                guard let type = Self.types[URL(filePath: path).pathExtension],
                    let plain = Self.read("\(folder)/\(path)")
                else { return nil }
                return (path, File(type: type, plain: plain, gzipped: Self.read("\(folder)/\(path).gz")))
            })
    }

    private static func read(_ path: String) -> ByteBuffer? {
        (try? Data(contentsOf: URL(filePath: path))).map { ByteBuffer(bytes: $0) }
    }

    /// A module is UTF-8 in any case.
    private static let types = [
        "css": "text/css; charset=utf-8", "html": "text/html; charset=utf-8", "js": "text/javascript",
        "png": "image/png", "svg": "image/svg+xml", "webmanifest": "application/manifest+json",
    ]

    /// The modules of the bus, which other people's pages load by a name that stays, and the service worker.
    private static let publicModules: Set = ["bus.js", "mqtt.js", "requests.js", "service-worker.js", "stream.js"]

    func page(_ name: String, _ request: Request, status: HTTPResponse.Status = .ok) throws(HTTPError) -> Response {
        guard let file = files["pages/\(name).html"] else {
            throw HTTPError(
                .serviceUnavailable, message: "the web folder has no pages; compose/build makes it, see --web-folder")
        }
        return revalidated(file, request, [:], status)
    }

    /// - Throws: `HTTPError` for an unknown path, or one of another version.
    func asset(_ path: [Substring], _ request: Request) throws(HTTPError) -> Response {
        if path.count == 1, Self.publicModules.contains(String(path[0])), let file = files["modules/\(path[0])"] {
            return revalidated(file, request, [.accessControlAllowOrigin: "*", .serviceWorkerAllowed: "/"], .ok)
        }
        let name = path.dropFirst().joined(separator: "/")
        guard path.first.map(String.init) == version, !name.hasPrefix("pages/"), let file = files[name] else {
            throw HTTPError(.notFound)
        }
        let headers: HTTPFields = [
            .cacheControl: "public, max-age=31536000, immutable",
            // An asset opened on its own loads nothing. The policy of pages would be a third of a small module.
            .contentSecurityPolicy: "default-src 'none'",
        ]
        return response(file, request, headers, .ok)
    }

    private func revalidated(
        _ file: File, _ request: Request, _ headers: HTTPFields, _ status: HTTPResponse.Status
    ) -> Response {
        var headers = headers
        headers[.eTag] = "\"\(version)\""
        headers[.cacheControl] = "no-cache"
        // A proxy that compresses marks it as weak.
        if status == .ok, request.headers[.ifNoneMatch]?.contains("\"\(version)\"") == true {
            return Response(status: .notModified, headers: headers)
        }
        return response(file, request, headers, status)
    }

    private func response(
        _ file: File, _ request: Request, _ headers: HTTPFields, _ status: HTTPResponse.Status
    ) -> Response {
        var headers = headers
        headers[.contentType] = file.type
        headers[.vary] = "Accept-Encoding"
        let accepted = (request.headers[.acceptEncoding] ?? "").split(separator: ",")
        let acceptsGzip = accepted.contains { $0.trimmingCharacters(in: .whitespaces).hasPrefix("gzip") }
        if acceptsGzip, file.gzipped != nil { headers[.contentEncoding] = "gzip" }
        let bytes = acceptsGzip ? file.gzipped ?? file.plain : file.plain
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: bytes))
    }
}
