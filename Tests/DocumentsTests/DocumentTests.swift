import Foundation
import TestSupport
import Testing

struct DocumentTests {
    @Test func `every link and anchor resolves`() throws {
        let documents = try Document.all()
        let anchors = Dictionary(uniqueKeysWithValues: documents.map { ($0.path, $0.anchors) })
        #expect(documents.count > 10)
        for document in documents {
            for link in document.links {
                let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
                let file = document.file(of: parts[0])
                let exists = FileManager.default.fileExists(atPath: Document.repository.appending(path: file).path)
                #expect(exists, "\(document.path) links to \(link)")
                if parts.count == 2 {
                    #expect(anchors[file]?.contains(String(parts[1])) == true, "\(document.path) links to \(link)")
                }
            }
        }
    }

    @Test func `Shared's README lists the files of each addition`() async throws {
        let folder = try TemporaryFolder()
        let script = Document.repository.appending(path: "Tests/adding.sh").path
        for what in ["quantity", "sport", "target", "weather-provider", "service", "page"] {
            try await ChildProcess.run([script, what, "HEAD", "HEAD"], log: folder.file(what))
        }
    }
}
