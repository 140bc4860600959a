import Bus
import Testing
import Workouts

@testable import Exporter

/// Retained statuses, their expiry, and deleted sessions.
struct MachineRetainedTests {
    private var run = ExportMachineRun()
    private let key = ExportMachineRun.key

    private mutating func export(_ revision: Int64, files: [String] = []) {
        run.receive(ExportMachineRun.workout(revision), targets: [.folder])
        for work in run.begin() {
            run.write(files)
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

    @Test mutating func `an echo changes nothing, an older revision is replaced, a newer one is exceeded`() throws {
        export(7)
        let newest = try #require(run.status(.folder)).revision
        let before = run.published.count
        run.see(newest, .folder)
        #expect(run.published.count == before)
        run.see(newest - 1_000_000, .folder)
        #expect(run.published.count == before + 1 && run.published.last?.revision == newest)
        run.see(newest + 1_000_000, .folder)
        #expect(run.published.last?.revision == newest + 1_000_001 && run.published.last?.status == .done)
        run.crash()
        run.request(.folder)
        #expect(try #require(run.status(.folder)).revision > newest + 1_000_001)
    }

    @Test mutating func `a status of an unknown export is cleared`() {
        run.see(1, .folder)
        #expect(run.cleared == ["pacebus/v1/\(key.session.shard)/anna/\(key.session)/export/folder"])
        export(7)
        run.see(1, .upload)
        #expect(run.cleared.count == 2)
    }

    @Test mutating func `48 hours after its last change a session leaves the broker and memory, but not the disk`() {
        export(7)
        run.pass(48 * 3_600 - 60)
        #expect(run.status(.folder) != nil)
        run.pass(60)
        #expect(run.status(.folder) == nil && run.status(.healthKit) == nil && run.machine.entries.isEmpty)
        run.crash()
        #expect(run.machine.entries.isEmpty && run.disk[key] != nil)
        run.receive(ExportMachineRun.workout(7))
        #expect(run.begin().isEmpty)
        run.see(5, .folder)
        #expect(run.status(.folder) == nil)
        #expect(run.request(.folder)?.ok == true)
        #expect(run.begin().count == 1 && run.status(.folder)?.status == .exporting)
    }

    @Test mutating func `a session with an open export never expires`() throws {
        run.receive(ExportMachineRun.workout(7), targets: [.upload])
        for _ in 0..<20 {
            run.end(try #require(run.begin().first), .failed("500"))
            run.pass(21_600)
        }
        #expect(run.status(.upload)?.attempts == 20 && run.begin().count == 1)
    }

    @Test mutating func `a deleted session leaves nothing behind and does not return`() {
        export(7, files: ["anna/a.fit"])
        run.receive(ExportMachineRun.workout(8), targets: [.folder])
        run.write(["anna/b.fit"])
        run.delete()
        #expect(run.disk.isEmpty && run.files.isEmpty && run.retained[key]?.isEmpty == true)
        run.receive(ExportMachineRun.workout(9))
        #expect(run.disk.isEmpty && run.machine.entries.isEmpty && run.begin().isEmpty)
        #expect(run.request(.folder)?.error?.code == "session_not_found")
        run.see(5, .folder)
        #expect(run.status(.folder) == nil)
    }

    @Test mutating func `files written during the deletion are removed after the delivery`() throws {
        run.receive(ExportMachineRun.workout(7), targets: [.folder])
        let work = try #require(run.begin().first)
        run.delete()
        run.write(["anna/a.fit"])
        run.end(work, .delivered(files: ["anna/a.fit"]))
        #expect(run.files.isEmpty && run.disk.isEmpty && run.retained[key]?.isEmpty == true)
    }

    @Test mutating func `a session that only a killed process exported is removed from all targets`() {
        run.write(["anna/a.fit"])
        run.delete()
        #expect(run.files.isEmpty)
    }

    @Test mutating func `the deletion of an expired session erases its record and files`() {
        export(7, files: ["anna/a.fit"])
        run.pass(48 * 3_600)
        run.crash()
        run.delete()
        #expect(run.disk.isEmpty && run.files.isEmpty)
    }
}
