import Foundation
import Testing

/// Reads each committed input once, without libFuzzer.
@Suite struct CorpusTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "corpus")

    private static func inputs(_ folder: URL) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    }

    @Test(arguments: Target.allCases)
    func `a reader reads its committed inputs`(target: Target) throws {
        let inputs = try Self.inputs(Self.folder.appending(path: target.rawValue))
        #expect(!inputs.isEmpty)
        for input in inputs { target.read([UInt8](try Data(contentsOf: input))) }
    }

    @Test func `the committed inputs are small and each has a reader`() throws {
        var bytes = 0
        for folder in try Self.inputs(Self.folder) {
            #expect(Target(rawValue: folder.lastPathComponent) != nil, "\(folder.path)")
            for input in try Self.inputs(folder) { bytes += try Data(contentsOf: input).count }
        }
        #expect(bytes <= 60 << 10)
    }
}
