import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import TestSupport
import Testing

@testable import Dashboard

struct WebFilesTests {
    private func files() throws -> (TemporaryFolder, WebFiles) {
        let folder = try TemporaryFolder()
        for name in ["modules", "pages"] {
            try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: true)
        }
        try folder.write("export {}", to: "modules/bus.js")
        try folder.write("zipped", to: "modules/bus.js.gz")
        try folder.write("export {1}", to: "modules/live.js")
        try folder.write("<p>", to: "pages/live.html")
        try folder.write("0a1b\n", to: "version")
        return (folder, WebFiles(folder: folder.path))
    }

    private func request(_ headers: HTTPFields = [:]) -> Request {
        let head = HTTPRequest(method: .get, scheme: "http", authority: "x", path: "/", headerFields: headers)
        return Request(head: head, body: RequestBody(buffer: ByteBuffer()))
    }

    @Test
    func `an asset is kept for ever and sent gzipped to browsers that accept it`() throws {
        let (_, files) = try files()
        let plain = try files.asset(["0a1b", "modules", "bus.js"], request())
        #expect(plain.headers[.contentType] == "text/javascript")
        #expect(plain.headers[.cacheControl] == "public, max-age=31536000, immutable")
        #expect(plain.headers[.contentEncoding] == nil)
        #expect(plain.headers[.contentSecurityPolicy] == "default-src 'none'")
        #expect(plain.body.contentLength == 9)
        let zipped = try files.asset(["0a1b", "modules", "bus.js"], request([.acceptEncoding: "br, gzip;q=1"]))
        #expect(zipped.headers[.contentEncoding] == "gzip")
        #expect(zipped.body.contentLength == 6)
    }

    @Test(arguments: [
        ["0a1b", "pages", "live.html"], ["0a1b", "version"], ["0a1b", "modules", "bus.js.gz"],
        ["0a1c", "modules", "live.js"], ["0a1b", "..", "version"], ["0a1b", ""], [], ["live.js"],
    ])
    func `other versions, pages and other files are no assets`(path: [String]) throws {
        let (_, files) = try files()
        #expect(throws: HTTPError.self) { try files.asset(path.map { $0[...] }, request()) }
    }

    @Test(arguments: [(#""0a1b""#, 304), (#"W/"0a1b""#, 304), (#""0a1c""#, 200), (nil, 200)] as [(String?, Int)])
    func `browsers ask each time whether a page, or a module under its public name, has changed`(
        tag: String?, status: Int
    ) throws {
        let (_, files) = try files()
        let request = request(tag.map { [.ifNoneMatch: $0] } ?? [:])
        let page = try files.page("live", request)
        #expect(page.status.code == status)
        #expect(page.headers[.eTag] == #""0a1b""#)
        #expect(page.headers[.cacheControl] == "no-cache")
        let module = try files.asset(["bus.js"], request)
        #expect(module.status.code == status)
        #expect(module.headers[.accessControlAllowOrigin] == "*")
    }

    @Test
    func `without a folder an error says what makes it`() throws {
        let files = WebFiles(folder: "/nothing")
        #expect(files.version == "none")
        let error = #expect(throws: HTTPError.self) { try files.page("live", request()) }
        #expect(error?.body?.contains("compose/build") == true)
    }
}
