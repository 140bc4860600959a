import Bus
import Testing
import Workouts

@testable import Exporter

/// What stands on the broker, what leaves it, and what becomes of deleted sessions.
struct MachineRetainedTests {
    private var run = MachineRun()
    private let key = MachineRun.key

    private mutating func export(_ revision: Int64, files: [String] = []) {
        run.receive(MachineRun.workout(revision), targets: [.folder], files: files)
        for work in run.begin() {
            run.folder.formUnion(files)
            run.end(work, .delivered(files: files))
        }
        run.pass(1)
        run.result(revision)
    }

    @Test mutating func `after a connection every status is published again`() {
        export(7)
        let before = run.published.count
        run.connect()
        let again = run.published[before...]
        #expect(again.map(\.target) == [.folder, .healthKit] && again.allSatisfy { $0.status == .done })
    }

    @Test mutating func `an own echo is nothing, an older revision is answered, a newer one gone above`() throws {
        export(7)
        let newest = try #require(run.status(.folder)).revision
        let told = run.published.count
        run.see(newest, .folder)
        #expect(run.published.count == told)
        run.see(newest - 1_000_000, .folder)
        #expect(run.published.count == told + 1 && run.published.last?.revision == newest)
        run.see(newest + 1_000_000, .folder)
        #expect(run.published.last?.revision == newest + 1_000_001 && run.published.last?.status == .done)
        run.crash()
        run.request(.folder)
        #expect(try #require(run.status(.folder)).revision > newest + 1_000_001)
    }

    @Test mutating func `what stands of nothing that is known is cleared`() {
        run.see(1, .folder)
        #expect(run.cleared == ["pacebus/v1/\(key.session.shard)/anna/\(key.session)/export/folder"])
        export(7)
        run.see(1, .upload)
        #expect(run.cleared.count == 2)
    }

    @Test mutating func `48 hours after its last change a session leaves the broker and memory, not the disk`() {
        export(7)
        run.pass(48 * 3_600 - 60)
        #expect(run.status(.folder) != nil)
        run.pass(60)
        #expect(run.status(.folder) == nil && run.status(.healthKit) == nil && run.machine.entries.isEmpty)
        run.crash()
        #expect(run.machine.entries.isEmpty && run.disk[key] != nil)
        run.receive(MachineRun.workout(7))
        #expect(run.begin().isEmpty)
        run.see(5, .folder)
        #expect(run.status(.folder) == nil)
        #expect(run.request(.folder)?.ok == true)
        #expect(run.begin().count == 1 && run.status(.folder)?.status == .exporting)
    }

    @Test mutating func `a session that is not exported yet stays however long it takes`() throws {
        run.receive(MachineRun.workout(7), targets: [.upload])
        for _ in 0..<20 {
            run.end(try #require(run.begin().first), .failed("500"))
            run.pass(21_600)
        }
        #expect(run.status(.upload)?.attempts == 20 && run.begin().count == 1)
    }

    @Test mutating func `of a deleted session nothing remains and nothing comes back`() {
        export(7, files: ["anna/a.fit"])
        run.receive(MachineRun.workout(8), targets: [.folder], files: ["anna/b.fit"])
        run.folder.insert("anna/b.fit")
        run.delete()
        #expect(run.disk.isEmpty && run.folder.isEmpty && run.retained[key]?.isEmpty == true)
        run.receive(MachineRun.workout(9))
        #expect(run.disk.isEmpty && run.machine.entries.isEmpty && run.begin().isEmpty)
        #expect(run.request(.folder)?.error?.code == "session_not_found")
        run.see(5, .folder)
        #expect(run.status(.folder) == nil)
    }

    @Test mutating func `files that were written while the session was deleted go as they are told of`() throws {
        run.receive(MachineRun.workout(7), targets: [.folder])
        let work = try #require(run.begin().first)
        run.delete()
        run.folder = ["anna/a.fit"]
        run.end(work, .delivered(files: ["anna/a.fit"]))
        #expect(run.folder.isEmpty && run.disk.isEmpty && run.retained[key]?.isEmpty == true)
    }

    @Test mutating func `files of an older workout that were written before a crash go too`() throws {
        run.receive(MachineRun.workout(7), targets: [.folder], files: ["anna/a.fit"])
        _ = run.begin()
        run.folder = ["anna/a.fit"]
        run.crash()
        run.receive(MachineRun.workout(8), targets: [.folder], files: ["anna/b.fit"])
        run.folder.insert("anna/b.fit")
        run.end(try #require(run.begin().first), .delivered(files: ["anna/b.fit"]))
        #expect(run.folder == ["anna/b.fit"])
    }

    @Test mutating func `a deleted session that is at rest is found on disk`() {
        export(7, files: ["anna/a.fit"])
        run.pass(48 * 3_600)
        run.crash()
        run.delete()
        #expect(run.disk.isEmpty && run.folder.isEmpty)
    }
}
