import Bus
import TestSupport
import Testing
import Workouts

@testable import Exporter

/// Exports that the exporter performs itself: files and uploads.
struct MachineTests {
    private var run = ExportMachineRun()
    private let key = ExportMachineRun.key

    @Test mutating func `a finished workout is collected once and delivered to each target`() throws {
        run.receive(ExportMachineRun.workout(7))
        #expect(run.status(.folder)?.status == .pending)
        let works = run.begin()
        let work = try #require(works.first)
        #expect(works.count == 1 && work.key == key && work.workout == 7 && work.summaries == ["metrics": 7])
        #expect(work.destinations.map(\.target) == [.folder, .upload])
        #expect(run.status(.upload)?.status == .exporting)
        #expect(run.begin().isEmpty)
        run.end(work, .folder, .delivered(files: ["anna/a.fit"]))
        run.end(work, .upload, .delivered())
        #expect(run.status(.folder)?.status == .done && run.status(.folder)?.files == ["anna/a.fit"])
        #expect(run.status(.upload)?.status == .done && run.status(.upload)?.workout == 7)
        run.pass(86_400)
        #expect(run.begin().isEmpty)
    }

    @Test mutating func `an incomplete workout waits ten minutes for a newer one`() {
        run.receive(ExportMachineRun.workout(7, isIncomplete: true))
        run.pass(599)
        #expect(run.begin().isEmpty && run.status(.healthKit)?.status == .pending)
        run.receive(ExportMachineRun.workout(8, isIncomplete: true))
        run.pass(599)
        #expect(run.begin().isEmpty)
        run.pass(1)
        #expect(run.begin().map(\.workout) == [8] && run.status(.healthKit)?.status == .exporting)
    }

    @Test mutating func `a complete workout is exported at once`() {
        run.receive(ExportMachineRun.workout(7, isIncomplete: true))
        run.receive(ExportMachineRun.workout(8))
        #expect(run.begin().map(\.workout) == [8])
    }

    @Test(arguments: [7, 6]) mutating func `the same revision and a lower one change nothing`(revision: Int64) {
        run.receive(ExportMachineRun.workout(7))
        for work in run.begin() { run.end(work, .delivered()) }
        let before = run.published.count
        run.pass(60)
        let after = run.published.count
        run.receive(ExportMachineRun.workout(revision))
        #expect(before < after && run.published.count == after && run.begin().isEmpty)
    }

    @Test mutating func `a failed export is retried after a minute, doubling to six hours, without limit`() throws {
        run.receive(ExportMachineRun.workout(7), targets: [.folder])
        var waits: [Double] = []
        for attempt in 1...12 {
            let work = try #require(run.begin().first)
            run.end(work, .failed("disk full"))
            let status = try #require(run.status(.folder))
            #expect(status.status == .pending && status.attempts == attempt && status.reason == "disk full")
            let wait = try #require(status.nextAttemptAt).seconds(since: run.now)
            waits.append(wait)
            run.pass(wait - 1)
            #expect(run.begin().isEmpty)
            run.pass(1)
        }
        #expect(waits == [60, 120, 240, 480, 960, 1920, 3840, 7680, 15360, 21600, 21600, 21600])
    }

    @Test(arguments: [(5, 60), (600, 600), (1e300, 86_400), (.nan, 60), (-5, 60)])
    mutating func `a target's Retry-After counts between the backoff and a day`(asked: Double, given: Double)
        throws
    {
        run.receive(ExportMachineRun.workout(7), targets: [.upload])
        run.end(try #require(run.begin().first), .failed("busy", retryAfter: asked))
        #expect(run.status(.upload)?.nextAttemptAt == run.now + given)
    }

    @Test mutating func `a refused export has failed and is not retried`() throws {
        run.receive(ExportMachineRun.workout(7), targets: [.upload])
        run.end(try #require(run.begin().first), .refused("401 Unauthorized"))
        #expect(run.status(.upload)?.status == .failed && run.status(.upload)?.reason == "401 Unauthorized")
        run.pass(40 * 3_600)
        #expect(run.begin().isEmpty)
    }

    @Test mutating func `a failed export begins again on request and for a newer workout`() throws {
        run.receive(ExportMachineRun.workout(7), targets: [.upload])
        run.end(try #require(run.begin().first), .refused("413"))
        #expect(run.request(.upload)?.ok == true)
        run.end(try #require(run.begin().first), .refused("413"))
        #expect(run.status(.upload)?.attempts == 1)
        run.receive(ExportMachineRun.workout(8), targets: [.upload])
        let work = try #require(run.begin().first)
        #expect(work.workout == 8 && work.destinations.map(\.idempotencyKey) == ["\(key)/upload"])
    }

    @Test(arguments: [Target.folder, .sessionFolder])
    mutating func `a newer workout goes to every target that replaces`(target: Target) throws {
        run.receive(ExportMachineRun.workout(7), targets: [target])
        run.end(try #require(run.begin().first), .delivered(files: ["anna/a.fit", "anna/a.tcx"]))
        run.receive(ExportMachineRun.workout(8), targets: [target])
        run.end(try #require(run.begin().first), .delivered(files: ["anna/a.tcx", "anna/b.fit"]))
        #expect(run.status(target)?.files == ["anna/a.tcx", "anna/b.fit"] && run.status(target)?.workout == 8)
    }

    @Test mutating func `an export to a target that this version does not have ends with its refusal`() throws {
        run.receive(ExportMachineRun.workout(7), targets: [Target("elsewhere")!])
        let work = try #require(run.begin().first)
        run.end(work, .refused("not configured"))
        #expect(run.status(Target("elsewhere")!)?.status == .failed && run.machine.waiting.isEmpty)
    }

    @Test mutating func `the outcome of an older workout counts for that workout only`() throws {
        run.receive(ExportMachineRun.workout(7))
        let old = try #require(run.begin().first)
        run.receive(ExportMachineRun.workout(8))
        #expect(run.begin().isEmpty)
        run.end(old, .delivered())
        #expect(run.status(.upload)?.status == .done && run.status(.upload)?.workout == 7)
        #expect(run.status(.folder)?.status == .pending)
        let again = try #require(run.begin().first)
        #expect(again.workout == 8 && again.destinations.map(\.target) == [.folder])
        run.end(old, .folder, .delivered(files: ["late"]))
        #expect(run.status(.folder)?.status == .exporting)
    }

    @Test mutating func `an outcome from before a hand-over does not end the delivery begun after it`() throws {
        run.receive(ExportMachineRun.workout(7))
        let old = try #require(run.begin().first)
        run.crash()
        let new = try #require(run.begin().first)
        run.end(old, .failed("CancellationError"))
        #expect(run.machine.working.count == 1 && run.status(.upload)?.status == .exporting)
        run.end(new, .delivered())
        #expect(run.machine.working.isEmpty && run.status(.upload)?.attempts == 0)
    }

    @Test mutating func `a refusal of an older workout does not stop the newer one`() throws {
        run.receive(ExportMachineRun.workout(7), targets: [.upload])
        let old = try #require(run.begin().first)
        run.receive(ExportMachineRun.workout(8), targets: [.upload])
        run.end(old, .refused("413"))
        #expect(run.begin().map(\.workout) == [8])
    }

    @Test mutating func `a newer workout does not end the backoff`() throws {
        run.receive(ExportMachineRun.workout(7), targets: [.upload])
        run.end(try #require(run.begin().first), .failed("500"))
        run.receive(ExportMachineRun.workout(8), targets: [.upload])
        #expect(run.begin().isEmpty)
        run.pass(60)
        #expect(run.begin().map(\.workout) == [8])
    }

    @Test mutating func `after a crash an interrupted delivery is due at once and keeps its attempts`() throws {
        run.receive(ExportMachineRun.workout(7), targets: [.upload])
        run.end(try #require(run.begin().first), .failed("500"))
        run.pass(60)
        let first = try #require(run.begin().first)
        run.crash()
        #expect(run.status(.upload)?.attempts == 1)
        let again = try #require(run.begin().first)
        #expect(again.workout == first.workout && again.summaries == first.summaries)
        #expect(again.destinations.map(\.idempotencyKey) == first.destinations.map(\.idempotencyKey))
    }

    @Test mutating func `deliveries begin within the room, users in turn, the longest due first`() {
        func session(_ number: Int) -> SessionID { SessionID("00000000-0000-4000-8000-00000000000\(number)")! }
        let anna = User("anna")!
        let keys = [
            SessionKey(anna, session(3)), SessionKey(anna, session(1)), SessionKey(anna, session(2)),
            SessionKey(User("bert")!, session(4)),
        ]
        for key in keys {
            run.receive(ExportMachineRun.workout(7, of: key), targets: [.folder])
            run.pass(1)
        }
        #expect(run.begin(room: 2).map(\.key) == [keys[0], keys[3]])
        #expect(run.begin(room: 0).isEmpty)
        #expect(run.begin(room: 5).map(\.key) == [keys[1], keys[2]])
        #expect(run.begin(room: 5).isEmpty)
    }

    @Test mutating func `an upload without room delays no files and begins when there is room`() {
        run.receive(ExportMachineRun.workout(7))
        let first = run.begin(uploads: 0)
        #expect(first.map { $0.destinations.map(\.target) } == [[.folder]])
        #expect(run.status(.upload)?.status == .pending)
        for work in first { run.end(work, .delivered()) }
        #expect(run.begin(uploads: 0).isEmpty)
        #expect(run.begin(uploads: 1).map { $0.destinations.map(\.target) } == [[.upload]])
    }

    @Test mutating func `a wall clock that steps backwards delays nothing`() {
        run.receive(ExportMachineRun.workout(7), targets: [.folder])
        run.step(by: -365 * 86_400)
        let work = run.begin()
        #expect(work.count == 1)
        for work in work { run.end(work, .folder, .failed("full", retryAfter: nil)) }
        run.step(by: -365 * 86_400)
        run.pass(59)
        #expect(run.begin().isEmpty)
        run.pass(1)
        #expect(run.begin().count == 1)
    }

    @Test mutating func `a stored attempt is at most its own backoff ahead, although the wall clock stepped backwards`()
    {
        run.receive(ExportMachineRun.workout(7, isIncomplete: true), targets: [.folder])
        run.step(by: -365 * 86_400)
        run.crash()
        run.pass(ExporterMachine.incompleteDelay - 1)
        #expect(run.begin().isEmpty)
        run.pass(RetryPlan.longestRetryAfter)
        #expect(run.begin().count == 1)
    }
}
