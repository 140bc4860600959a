import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import TestSupport
import Testing

@testable import Dashboard

struct AssetFilesTests {
    private func assets() throws -> (TemporaryFolder, AssetFiles) {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(
            atPath: folder.file("modules"), withIntermediateDirectories: true)
        try FileManager.default.createDirectory(
            atPath: folder.file("templates"), withIntermediateDirectories: true)
        try folder.write("export {}", to: "modules/live.js")
        try folder.write("zipped", to: "modules/live.js.gz")
        try folder.write("<p>", to: "templates/live.mustache")
        try folder.write("0a1b\n", to: "version")
        return (folder, AssetFiles(folder: folder.path))
    }

    @Test
    func `an asset is kept for ever and sent gzipped to browsers that accept it`() throws {
        let (_, assets) = try assets()
        let plain = try #require(assets.response("0a1b", "modules/live.js", acceptsGzip: false))
        #expect(plain.headers[.contentType] == "text/javascript; charset=utf-8")
        #expect(plain.headers[.cacheControl] == "public, max-age=31536000, immutable")
        #expect(plain.headers[.contentEncoding] == nil)
        #expect(plain.headers[.contentSecurityPolicy] == "default-src 'none'")
        #expect(plain.body.contentLength == 9)
        let zipped = try #require(assets.response("0a1b", "modules/live.js", acceptsGzip: true))
        #expect(zipped.headers[.contentEncoding] == "gzip")
        #expect(zipped.body.contentLength == 6)
    }

    @Test(arguments: [
        ("0a1b", "templates/live.mustache"), ("0a1b", "version"), ("0a1b", "modules/live.js.gz"),
        ("0a1c", "modules/live.js"),
        ("0a1b", "../version"), ("0a1b", ""),
    ])
    func `other versions, templates and other files are not served`(version: String, path: String) throws {
        let (_, assets) = try assets()
        #expect(assets.response(version, path, acceptsGzip: true) == nil)
    }

    @Test
    func `without a folder there are no assets`() {
        #expect(AssetFiles(folder: "/nothing").version == "none")
    }
}
