import ArgumentParser
import Bus
import Client
import Formats
import Foundation
import MQTT
import ServiceKit
import ServiceLifecycle
import TestSupport
import Testing
import Workouts

@testable import Pacebus

@Suite struct ExportCommandTests {
    private let session = FetchSession()
    private let name = "2023-11-14T221320Z-evening-run.fit"

    private func system() throws -> FetchSystem {
        try FetchSystem { [session] request, _ in session.parts(session.bytes(2), request) }
    }

    private func content(_ bytes: [UInt8]) throws -> OpenFile {
        let file = try OpenFile.temporary(in: FileManager.default.temporaryDirectory.path)
        try file.append(bytes)
        return file
    }

    @Test(arguments: ExportFormat.allCases)
    func `the format is the file's extension`(format: ExportFormat) async throws {
        let system = try system()
        try await system.run(session.key, "--output", system.folder.file("run.\(format)"))
        #expect(system.requests.map(\.action) == [.file(format: format.rawValue, from: 0)])
        #expect(try Data(contentsOf: URL(filePath: system.folder.file("run.\(format)"))) == Data(session.bytes(2)))
    }

    @Test func `--format wins over the extension, and fit is the default`() throws {
        func format(_ arguments: String...) throws -> ExportFormat? {
            let command = try Pacebus.parseAsRoot(["export", "\(session.key.session)"] + arguments)
            return (command as? Pacebus.Export)?.chosenFormat
        }
        #expect(try format("--format", "gpx", "-o", "run.tcx") == .gpx)
        #expect(try format("-o", "run.TCX") == .tcx)
        #expect(try format("--format", "csv", "-o", "run.txt") == .csv)
        #expect(throws: (any Error).self) { try format("-o", "run.txt") }
        #expect(try format("-o", "run") == .fit)
        #expect(try format("-o", "-") == .fit)
        #expect(try format() == .fit)
    }

    @Test(arguments: [
        ["--target", "folder"], ["--again", "--target", "Drop Box"], ["--again", "--format", "fit"],
        ["--again", "--output", "run.fit"], ["--again", "--force"], ["--output", ""], ["--format", "doc"],
    ])
    func `options that exclude each other are refused`(arguments: [String]) {
        #expect(throws: (any Error).self) {
            try Pacebus.parseAsRoot(["export", "\(session.key.session)"] + arguments)
        }
    }

    @Test func `invalid names are refused`() {
        for names in [["\(session.key.session)", "--user", "Ann"], ["run"], []] {
            #expect(throws: (any Error).self) { try Pacebus.parseAsRoot(["export"] + names) }
        }
    }

    @Test func `an existing file is an error before the fetch, unless --force is given`() async throws {
        let system = try self.system()
        let path = try system.folder.write("mine", to: "run.fit")
        await #expect(throws: ExportOutput.Failure.exists(path)) { try await system.run(session.key) }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
        #expect(system.text.isEmpty)
        try await system.run(session.key, "--force")
        #expect(try Data(contentsOf: URL(filePath: path)) == Data(session.bytes(2)))
        #expect(try system.files == ["run.fit"])
    }

    private func mode(_ path: String) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    @Test func `a new file has the user's permissions, and an overwritten one keeps its own`() throws {
        let folder = try TemporaryFolder()
        let usual = folder.file("usual")
        close(open(usual, O_CREAT | O_WRONLY, 0o666))
        let output = ExportOutput(place: .file(folder.file("run.fit")), overwrites: true)
        _ = try output.write(content([1]), named: name)
        #expect(try mode(folder.file("run.fit")) == mode(usual))
        for kept in [0o600, 0o664, 0o444] {
            #expect(chmod(folder.file("run.fit"), mode_t(kept)) == 0)
            _ = try output.write(content([2]), named: name)
            #expect(try mode(folder.file("run.fit")) == kept)
        }
    }

    @Test func `a symbolic link is followed`() throws {
        let folder = try TemporaryFolder()
        let (link, file) = (folder.file("latest.fit"), try folder.write("old", to: "run.fit"))
        #expect(symlink("run.fit", link) == 0)
        let output = ExportOutput(place: .file(link), overwrites: true)
        #expect(try output.write(content([1, 2]), named: name).path == link)
        #expect(try Data(contentsOf: URL(filePath: file)) == Data([1, 2]))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 2)
        try FileManager.default.removeItem(atPath: file)
        #expect(throws: ExportOutput.Failure.notAFile(link)) {
            try output.write(content([3]), named: name)
        }
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "run.fit")
    }

    @Test func `a failed write leaves no file`() throws {
        let folder = try TemporaryFolder()
        let output = ExportOutput(place: .file(folder.file(String(repeating: "x", count: 256))))
        #expect(throws: DurableFolder.Problem.self) {
            try output.write(content([1]), named: name)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    @Test func `a folder or device is not overwritten`() async throws {
        let system = try self.system()
        for path in [system.folder.path, "/dev/null", system.folder.file("new/")] {
            await #expect(throws: ExportOutput.Failure.notAFile(path)) {
                try await system.run(session.key, "--force", "--output", path)
            }
        }
    }

    @Test func `a file in a missing folder is an error`() async throws {
        let system = try self.system()
        await #expect(throws: DurableFolder.Problem.self) {
            try await system.run(session.key, "--output", system.folder.file("none/run.fit"))
        }
        #expect(try system.files.isEmpty)
    }

    @Test func `by default the file has the exporter's name`() throws {
        let folder = try TemporaryFolder()
        let output = ExportOutput(place: .folder(folder.path))
        let written = try output.write(content([1, 2]), named: name)
        let path = try #require(written.path)
        #expect(path == folder.file(name))
        #expect(try Data(contentsOf: URL(filePath: path)) == Data([1, 2]))
        #expect(throws: ExportOutput.Failure.exists(path)) {
            try output.write(content([3]), named: name)
        }
    }

    @Test func `standard output gets the bytes and nothing else`() throws {
        let pipe = Pipe()
        let output = ExportOutput(place: .standardOutput, standardOutput: pipe.fileHandleForWriting)
        let written = try output.write(content([0, 255, 10]), named: name)
        #expect(written.path == nil && written.count == 3)
        try pipe.fileHandleForWriting.close()
        #expect(try pipe.fileHandleForReading.readToEnd() == Data([0, 255, 10]))
    }
}
