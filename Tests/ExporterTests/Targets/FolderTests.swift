import Formats
import Foundation
import ServiceKit
import Storage
import Synchronization
import TestSupport
import Testing
import Workouts

@testable import Exporter

@Suite(.timeLimit(.minutes(60))) struct FolderTests {
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
        FolderTarget(folder: path ?? exports, formats: formats) { try $2.append(encode($0, $1)) }
    }

    /// Delivers a workout and returns its files.
    private func files(_ workout: ExportedWorkout, to target: FolderTarget) async throws -> [String] {
        guard case .delivered(let files) = await target.deliver(workout) else { throw NotDelivered() }
        return files
    }

    private struct NotDelivered: Error {}

    private func key(_ workout: ExportedWorkout) -> SessionKey {
        SessionKey(workout.workout.user, workout.workout.session)
    }

    /// The same epoch for all shards.
    private func epochs(_ number: Int64) -> [Shard: Epoch] {
        Dictionary(uniqueKeysWithValues: Shard.all.map { ($0, Epoch(number)) })
    }

    private func text(_ path: String) throws -> String {
        try String(contentsOfFile: "\(exports)/\(path)", encoding: .utf8)
    }

    /// The names in a user's folder, including hidden ones.
    private func names(_ user: String = "anna", in path: String? = nil) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "\(path ?? exports)/\(user)").sorted()
    }

    private func permissions(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `files of more than the retention are removed, and no others`() async throws {
        let paths = try await files(workout, to: target()).map { "\(exports)/\($0)" }
        let other = "\(exports)/anna/notes.txt"
        try "mine".write(toFile: other, atomically: true, encoding: .utf8)
        let old = Date(timeIntervalSinceNow: -10 * 86_400)
        for path in [paths[0], other] {
            try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: path)
        }
        try await target().remove(writtenBefore: Date(timeIntervalSinceNow: -9 * 86_400))
        #expect(!FileManager.default.fileExists(atPath: paths[0]))
        #expect(FileManager.default.fileExists(atPath: paths[1]) && FileManager.default.fileExists(atPath: other))
    }

    @Test func `each format is a file in the user's folder that only its owner can read`() async throws {
        let delivery = await target().deliver(workout)
        let files = ["fit", "csv"].map { "anna/2026-11-21T061503Z-morning-run-\(workout.workout.session).\($0)" }
        #expect(delivery == .delivered(files: files))
        #expect(try text(files[0]) == "fit of Morning Run, revision 1")
        #expect(try text(files[1]) == "csv of Morning Run, revision 1")
        #expect(try names().count == 2)
        #expect(try permissions("\(exports)/\(files[0])") == 0o600)
        for made in ["data", "data/exports", "data/exports/anna"] {
            #expect(try permissions(folder.file(made)) == 0o700, "\(made)")
        }
    }

    @Test func `a later revision replaces the files, also under another name and in other formats`() async throws {
        let other = try await files(.named("Morning Run"), to: target())
        let first = try await files(workout, to: target())
        let second = try await files(workout.revised(), to: target())
        #expect(second == first)
        #expect(try text(first[0]) == "fit of Morning Run, revision 2")
        let third = try await files(workout.revised("Hills"), to: target([.fit]))
        #expect(third == ["anna/2026-11-21T061503Z-hills-\(workout.workout.session).fit"])
        #expect(try names() == (third + other).map { String($0.dropFirst(5)) }.sorted())
    }

    @Test func `a removed workout has no files, and a repeated removal is no error`() async throws {
        _ = try await files(workout, to: target())
        for _ in 0..<2 {
            try await target().remove([key(workout)])
            #expect(try names() == [])
        }
        try await target(in: folder.file("nowhere")).remove([key(workout)])
    }

    @Test func `the removal of sessions deletes all their files under any name, and no others`() async throws {
        let others = target([.gpx, .json])
        for revision in [workout, .named("Morning Run"), .named("Run", user: "bert")] {
            _ = try await files(revision, to: target())
        }
        // Written by a killed process.
        let before = workout.revised("Hills").workout
        try Data().write(to: URL(filePath: "\(exports)/\(ExportFile(before, .gpx).path)"))
        try Data().write(to: URL(filePath: "\(exports)/anna/notes.csv"))
        let keys = ["anna", "bert", "carl"].map { SessionKey(User($0)!, workout.workout.session) }
        try await others.remove(Set(keys))
        #expect(try names().count == 3)
        #expect(try names().allSatisfy { !$0.contains("\(workout.workout.session)") })
        #expect(try names("bert").count == 2)
    }

    @Test func `files that no export has written stay`() async throws {
        let session = workout.workout.session
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
        let written = foreign.filter { !$0.hasSuffix("/") && $0.contains("/") && !$0.contains("\0") }
            .filter { !$0.hasPrefix("anna//") && !$0.hasPrefix("/") }
        for path in written { try Data("theirs".utf8).write(to: URL(filePath: "\(exports)/\(path)")) }
        let before = manager.subpaths(atPath: folder.path)?.sorted()
        _ = try await files(workout, to: target())
        _ = try await files(workout.revised("Hills"), to: target())
        try await target().remove([key(workout)])
        #expect(before?.count ?? 0 > 10)
        #expect(manager.subpaths(atPath: folder.path)?.sorted() == before)
    }

    @Test func `after any deliveries and removals each user has only the files of the last deliveries`() async throws {
        var random = SeededRandom()
        var workouts = (0..<4).map { ExportedWorkout.named("Run", user: $0.isMultiple(of: 2) ? "anna" : "bert") }
        var expected: [Int: [String]] = [:]
        for _ in 0..<200 {
            let index = workouts.indices.randomElement(using: &random)!
            let name = ["Run", "Hills", "Läufchen", "x"].randomElement(using: &random)!
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                try await target().remove([key(workouts[index])])
                expected[index] = nil
            case 1:
                // A killed process stopped here.
                let place = DurableFolder(path: "\(exports)/\(workouts[index].workout.user)")
                try place.make()
                _ = try place.writeHidden("\(workouts[index].workout.session)-epoch-0") { try $0.append([1]) }
            default:
                workouts[index] = workouts[index].revised(name)
                let formats = ExportFormat.allCases.filter { _ in Bool.random(using: &random) }
                expected[index] = try await files(workouts[index], to: target(formats))
            }
        }
        try await target().removeLeftovers(epochs(1))
        let found = try ["anna", "bert"].flatMap { user in try names(user).map { "\(user)/\($0)" } }
        #expect(found.sorted() == expected.values.flatMap(\.self).sorted())
    }

    @Test func `half-written files of a killed process stay hidden and are removed with their shard`() async throws {
        let files = try await files(workout, to: target())
        let shard = workout.workout.session.shard
        let place = DurableFolder(path: "\(exports)/anna")
        for _ in 0..<2 {
            let hidden = try place.writeHidden("\(workout.workout.session)-epoch-0") { try $0.append([1, 2, 3]) }
            #expect(hidden.hasPrefix("."))
        }
        // Written by another process for its own shards.
        let session = try #require((0..<1_000).lazy.map { _ in SessionID(UUID()) }.first { $0.shard != shard })
        let others = try place.writeHidden("\(session)-epoch-0") { try $0.append([1, 2, 3]) }
        try Data().write(to: URL(filePath: "\(exports)/anna/.theirs.part"))
        #expect(try text(files[0]) == "fit of Morning Run, revision 1")
        #expect(try names().count == 6)
        try await target().removeLeftovers([shard: Epoch(1)])
        #expect(try names() == [others, ".theirs.part"].sorted() + files.map { String($0.dropFirst(5)) }.sorted())
        #expect(await target().deliver(workout.revised()) == .delivered(files: files))
        try await target(in: folder.file("nowhere")).removeLeftovers([shard: Epoch(1)])
    }

    @Test func `the removal of leftovers keeps the half-written files of the shard's owner`() async throws {
        let isWriting = Atomic(false)
        let isRemoved = DispatchSemaphore(value: 0)
        let target = target { format, _ in
            if format == .csv {
                isWriting.store(true, ordering: .relaxed)
                _ = isRemoved.wait(timeout: .now() + 60)
            }
            return [1]
        }
        async let delivery = target.deliver(workout)
        #expect(await eventually { isWriting.load(ordering: .relaxed) })
        #expect(try names().map { $0.hasPrefix(".") } == [true, true])
        try await target.removeLeftovers(epochs(1))
        isRemoved.signal()
        guard case .delivered = await delivery else { throw NotDelivered() }
        #expect(try names().count == 2)
    }

    @Test func `a reader finds a complete file of one revision at any time`() async throws {
        let size = 100_000
        let target = target([.fit]) { _, workout in
            [UInt8](repeating: UInt8(workout.workout.revision % 250), count: size)
        }
        let workout = workout
        let files = try await files(workout, to: target)
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
                    guard await target.deliver(workout) == .delivered(files: files) else {
                        throw NotDelivered()
                    }
                    await Task.yield()
                }
            }
            try await group.next()
            group.cancelAll()
        }
    }

    @Test func `a full disk keeps the earlier files complete, and a retry replaces them`() async throws {
        guard let disk = SmallDisk(folder, megabytes: 2) else {
            print("a full disk keeps the earlier files: skipped, mounting a small disk needs root")
            return
        }
        defer { disk.unmount() }
        // The disk has room for the first file only.
        let target = target(in: disk.path) { format, workout in
            [UInt8](repeating: 7, count: format == .csv && workout.workout.revision == 2 ? 3 << 20 : 100_000)
        }
        let files = try await files(workout, to: target)
        let before = try names(in: disk.path)
        let problem = Delivery.failed("cannot write the files: No space left on device")
        #expect(await target.deliver(workout.revised("Hills")) == problem)
        #expect(try names(in: disk.path) == before)
        try disk.fill()
        #expect(await target.deliver(workout) == problem)
        #expect(try names(in: disk.path) == before)
        #expect(try Data(contentsOf: URL(filePath: "\(disk.path)/\(files[1])")).count == 100_000)
        try disk.makeRoom()
        // A server that another test starts may hold the filler open for a moment.
        #expect(await eventually { await target.deliver(workout) == .delivered(files: files) })
    }

    @Test func `the reason of a failed write has the system's error and no path`() async throws {
        let file = try folder.write("", to: "file")
        #expect(await target(in: file).deliver(workout) == .failed("cannot write the files: Not a directory"))
        guard let disk = SmallDisk(folder, megabytes: 1) else {
            print("the reason of a failed write has no path: skipped in part, mounting a disk needs root")
            return
        }
        defer { disk.unmount() }
        try #require(mount("tmpfs", disk.path, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), "") == 0)
        #expect(
            await target(in: disk.path).deliver(workout)
                == .failed("cannot write the files: Read-only file system"))
    }
}
