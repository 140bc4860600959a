import Foundation
import TestSupport
import Testing
import Workouts

@testable import Exporter

@Suite(.timeLimit(.minutes(5))) struct FolderTests {
    private let folder: TemporaryFolder
    private let workout = ExportedWorkout.named("Morning Run")

    init() throws {
        folder = try TemporaryFolder()
    }

    private var exports: String { folder.file("data/exports") }

    private func target(
        _ formats: [ExportFormat] = [.fit, .csv], in path: String? = nil,
        encode: @escaping @Sendable (ExportFormat, ExportedWorkout) -> [UInt8] = {
            Array("\($0) of \($1.workout.name), revision \($1.workout.revision)".utf8)
        }
    ) -> FolderTarget {
        FolderTarget(folder: path ?? exports, formats: formats, encode: encode)
    }

    private func text(_ path: String) throws -> String {
        try String(contentsOfFile: "\(exports)/\(path)", encoding: .utf8)
    }

    /// What stands in the folder of a user, hidden files too.
    private func names(_ user: String = "anna", in path: String? = nil) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "\(path ?? exports)/\(user)").sorted()
    }

    private func permissions(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `each format is a file that its owner alone can read, in the user's folder`() throws {
        let delivery = target().deliver(workout)
        let files = ["fit", "csv"].map { "anna/2026-11-21T061503Z-morning-run-\(workout.workout.session).\($0)" }
        #expect(delivery == .delivered(files: files))
        #expect(target().files(of: workout.workout) == files)
        #expect(try text(files[0]) == "fit of Morning Run, revision 1")
        #expect(try text(files[1]) == "csv of Morning Run, revision 1")
        #expect(try names().count == 2)
        #expect(try permissions("\(exports)/\(files[0])") == 0o600)
        for made in ["data", "data/exports", "data/exports/anna"] {
            #expect(try permissions(folder.file(made)) == 0o700, "\(made)")
        }
    }

    @Test func `a later revision takes the place of the files of the same name, and old ones go when that is said`()
        throws
    {
        let other = ExportedWorkout.named("Morning Run")
        _ = target().deliver(other)
        guard case .delivered(let first) = target().deliver(workout) else { throw NotDelivered() }
        guard case .delivered(let second) = target().deliver(workout.revised()) else {
            throw NotDelivered()
        }
        #expect(second == first)
        #expect(try text(first[0]) == "fit of Morning Run, revision 2")
        guard case .delivered(let third) = target([.fit]).deliver(workout.revised("Hills")) else {
            throw NotDelivered()
        }
        try target().remove(second)
        #expect(third == ["anna/2026-11-21T061503Z-hills-\(workout.workout.session).fit"])
        #expect(try names() == (third + target().files(of: other.workout)).map { String($0.dropFirst(5)) }.sorted())
    }

    private struct NotDelivered: Error {}

    @Test func `a file that is removed is gone, and so it stays`() throws {
        guard case .delivered(let files) = target().deliver(workout) else { throw NotDelivered() }
        for _ in 0..<2 {
            try target().remove(files)
            #expect(try names() == [])
        }
        try target(in: folder.file("nowhere")).remove(files)
    }

    @Test func `all files of a session that is deleted go, whatever they are called, and no others`() throws {
        for revision in [workout, workout.revised("Hills"), .named("Morning Run"), .named("Run", user: "bert")] {
            _ = target().deliver(revision)
        }
        try Data().write(to: URL(filePath: "\(exports)/anna/notes.csv"))
        let key = { SessionKey(User($0)!, workout.workout.session) }
        try target().removeAll(of: [key("anna"), key("bert"), key("carl")])
        #expect(try names().count == 3)
        #expect(try names().allSatisfy { !$0.contains("\(workout.workout.session)") })
        #expect(try names("bert").count == 2)
    }

    @Test func `paths that no workout has, or another, are left alone`() throws {
        let session = SessionID(UUID())
        let foreign = [
            "../secret-\(session).fit", "anna/../secret-\(session).fit", "/secret-\(session).fit",
            "anna//secret-\(session).fit", "./secret-\(session).fit", "../exports/secret-\(session).fit",
            "anna/notes.csv", "anna/\(session).fit", "anna/x-\(session).doc", "anna/.x-\(session).fit",
            "anna/x-\(session)", "Anna/x-\(session).fit", "anna/x y-\(session).fit", "anna/x-\(session).fit.fit", "",
            "anna", "anna/", "anna/x-\(session).fit/", "anna/x\0-\(session).fit",
        ]
        for path in foreign { #expect(ExportFile(path) == nil, "\(path)") }
        let manager = FileManager.default
        for user in ["anna", "Anna"] {
            try manager.createDirectory(atPath: "\(exports)/\(user)", withIntermediateDirectories: true)
        }
        for path in foreign where !path.hasSuffix("/") && path.contains("/") && !path.contains("\0") {
            try Data("theirs".utf8).write(to: URL(filePath: "\(exports)/\(path)"))
        }
        let other = ExportedWorkout.named("Morning Run")
        _ = target().deliver(other)
        let before = manager.subpaths(atPath: folder.path)?.count
        try target().remove(foreign)
        #expect(before ?? 0 > 10)
        #expect(manager.subpaths(atPath: folder.path)?.count == before)
    }

    @Test func `what a killed process was writing is never seen and goes at the next start`() throws {
        guard case .delivered(let files) = target().deliver(workout) else { throw NotDelivered() }
        let shard = workout.workout.session.shard
        // It came as far as this.
        let place = DurableFolder(path: "\(exports)/anna")
        let hidden = try place.writeHidden([1, 2, 3], "\(workout.workout.session)")
        #expect(hidden.hasPrefix("."))
        // Another process, for shards of its own, is writing this.
        let session = try #require((0..<1_000).lazy.map { _ in SessionID(UUID()) }.first { $0.shard != shard })
        let others = try place.writeHidden([1, 2, 3], "\(session)")
        try Data().write(to: URL(filePath: "\(exports)/anna/.theirs.part"))
        #expect(try text(files[0]) == "fit of Morning Run, revision 1")
        #expect(try names().count == 5)
        try target().clear([shard])
        #expect(try names() == [others, ".theirs.part"].sorted() + files.map { String($0.dropFirst(5)) }.sorted())
        #expect(target().deliver(workout.revised()) == .delivered(files: files))
        try target(in: folder.file("nowhere")).clear([shard])
    }

    @Test func `whoever reads meanwhile finds one revision or another, and all of it`() async throws {
        let size = 100_000
        let target = target([.fit]) { _, workout in
            [UInt8](repeating: UInt8(workout.workout.revision % 250), count: size)
        }
        let workout = workout
        guard case .delivered(let files) = target.deliver(workout) else { throw NotDelivered() }
        let url = URL(filePath: "\(exports)/\(files[0])")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var revisions: Set<UInt8> = []
                while revisions.count < 20 {
                    let content = try Data(contentsOf: url)
                    let revision = try #require(content.first)
                    #expect(content == Data(repeating: revision, count: size))
                    revisions.insert(revision)
                    await Task.yield()
                }
            }
            group.addTask {
                var workout = workout
                while !Task.isCancelled {
                    workout = workout.revised()
                    guard target.deliver(workout) == .delivered(files: files) else {
                        throw NotDelivered()
                    }
                    await Task.yield()
                }
            }
            try await group.next()
            group.cancelAll()
        }
    }

    @Test func `a full disk keeps the earlier files, leaves none half, and is tried again`() async throws {
        guard let disk = SmallDisk(folder, megabytes: 2) else {
            print("a full disk keeps the earlier files: skipped, mounting a small disk needs root")
            return
        }
        defer { disk.unmount() }
        // The first file has room, the second has not.
        let target = target(in: disk.path) { format, workout in
            [UInt8](repeating: 7, count: format == .csv && workout.workout.revision == 2 ? 3 << 20 : 100_000)
        }
        guard case .delivered(let files) = target.deliver(workout) else { throw NotDelivered() }
        let before = try names(in: disk.path)
        let problem = Delivery.failed("cannot write to \(disk.path)/anna: No space left on device")
        #expect(target.deliver(workout.revised("Hills")) == problem)
        #expect(try names(in: disk.path) == before)
        try disk.fill()
        #expect(target.deliver(workout) == problem)
        #expect(try names(in: disk.path) == before)
        #expect(try Data(contentsOf: URL(filePath: "\(disk.path)/\(files[1])")).count == 100_000)
        try disk.makeRoom()
        // A server that another test just then starts may hold the filler open for a moment.
        #expect(await eventually { target.deliver(workout) == .delivered(files: files) })
    }

    @Test func `a folder that cannot be written to is named`() throws {
        let file = try folder.write("", to: "file")
        #expect(
            target(in: file).deliver(workout) == .failed("cannot write to \(file)/anna: Not a directory")
        )
        guard let disk = SmallDisk(folder, megabytes: 1) else {
            print("a folder that cannot be written to is named: skipped in part, mounting a disk needs root")
            return
        }
        defer { disk.unmount() }
        try #require(mount("tmpfs", disk.path, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), "") == 0)
        #expect(
            target(in: disk.path).deliver(workout)
                == .failed("cannot write to \(disk.path)/anna: Read-only file system"))
    }
}
