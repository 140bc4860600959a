import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// Style sheet, modules and images, read once from the folder that `compose/web.sh` makes.
///
/// Their addresses begin with a checksum of all of them, so a browser keeps them for ever and asks for others after a
/// release.
struct AssetFiles: Sendable {
    private struct Asset {
        let type: String
        let plain: ByteBuffer
        let gzipped: ByteBuffer?
    }

    /// The version without a folder.
    static let none = "none"

    /// A checksum of all assets.
    let version: String
    private let assets: [String: Asset]

    init(folder: String) {
        let version = try? String(contentsOfFile: "\(folder)/version", encoding: .utf8)
        self.version = version?.trimmingCharacters(in: .whitespacesAndNewlines) ?? Self.none
        let paths = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
        assets = Dictionary(
            uniqueKeysWithValues: paths.compactMap { path -> (String, Asset)? in
                // Templates and everything else that has no type here are not for browsers.
                guard let type = Self.types[URL(filePath: path).pathExtension],
                    let plain = Self.read("\(folder)/\(path)")
                else { return nil }
                return (path, Asset(type: type, plain: plain, gzipped: Self.read("\(folder)/\(path).gz")))
            })
    }

    private static func read(_ path: String) -> ByteBuffer? {
        (try? Data(contentsOf: URL(filePath: path))).map { ByteBuffer(bytes: $0) }
    }

    private static let types = [
        "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "png": "image/png",
        "svg": "image/svg+xml", "webmanifest": "application/manifest+json",
    ]

    /// The response to a request for an asset of a version; `nil` for an unknown one.
    func response(_ version: String, _ path: String, acceptsGzip: Bool) -> Response? {
        guard version == self.version, let asset = assets[path] else { return nil }
        var headers: HTTPFields = [
            .contentType: asset.type, .cacheControl: "public, max-age=31536000, immutable", .vary: "Accept-Encoding",
            // An asset opened on its own loads nothing. The policy of pages would be a third of a small module.
            .contentSecurityPolicy: "default-src 'none'",
        ]
        guard acceptsGzip, let gzipped = asset.gzipped else {
            return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: asset.plain))
        }
        headers[.contentEncoding] = "gzip"
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: gzipped))
    }
}

extension DashboardRouter {
    static func addAssetRoutes(to router: Router<DashboardContext>, _ assets: AssetFiles) {
        router.get("assets/:version/**") { request, context in
            let accepted = (request.headers[.acceptEncoding] ?? "").split(separator: ",")
            let acceptsGzip = accepted.contains { $0.trimmingCharacters(in: .whitespaces).hasPrefix("gzip") }
            let path = context.parameters.getCatchAll().joined(separator: "/")
            guard let version = context.parameters.get("version"),
                let response = assets.response(version, path, acceptsGzip: acceptsGzip)
            else { throw HTTPError(.notFound) }
            return response
        }
    }
}
