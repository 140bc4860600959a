import Bus
import Testing
import Workouts

@testable import Exporter

/// A device writes to HealthKit: the phone on request, or the watch by itself.
struct MachineHealthKitTests {
    private var run = ExportMachineRun()

    private mutating func finish(_ revision: Int64, mode: Mode = .phone) {
        run.receive(ExportMachineRun.workout(revision, mode: mode), targets: [])
        run.pass(1)
    }

    private let fault = Refusal(code: "unavailable", message: "locked")

    @Test mutating func `in phone mode the status contains the workout, and a result ends the export`() {
        finish(7)
        let status = run.status(.healthKit)
        #expect(status?.status == .exporting && status?.mode == .phone && status?.workout == 7)
        #expect(status?.healthKit == HealthKitWorkout(ExportMachineRun.workout(7)))
        #expect(run.begin().isEmpty)
        #expect(run.result(7)?.ok == true)
        #expect(run.status(.healthKit)?.status == .done && run.status(.healthKit)?.healthKit == nil)
    }

    @Test mutating func `a failed device receives the request again after the backoff, under a higher revision`() throws
    {
        finish(7)
        run.result(7, fault)
        let status = try #require(run.status(.healthKit))
        #expect(status.status == .pending && status.attempts == 1 && status.reason == "locked")
        #expect(status.nextAttemptAt == run.now + 60)
        run.pass(60)
        #expect(run.status(.healthKit)?.status == .exporting)
        #expect(try #require(run.status(.healthKit)).revision > status.revision)
    }

    @Test mutating func `without a result the request lasts 48 hours, then the export has failed`() throws {
        finish(7)
        var asked: [Double] = []
        var last = try #require(run.status(.healthKit)).revision
        let start = run.now
        for _ in 0..<(48 * 60 - 1) {
            run.pass(60)
            guard let status = run.status(.healthKit), status.revision != last else { continue }
            last = status.revision
            #expect(status.status == .exporting && status.healthKit != nil && status.attempts == asked.count + 1)
            asked.append(run.now.seconds(since: start) / 60)
        }
        #expect(asked.prefix(5) == [1, 3, 7, 15, 31] && asked.last! < 48 * 60)
        run.pass(120)
        #expect(run.status(.healthKit)?.status == .failed && run.status(.healthKit)?.reason != nil)
        run.pass(48 * 3_600 + 1)
        #expect(run.status(.healthKit) == nil && run.machine.entries.isEmpty)
    }

    @Test mutating func `a denied export is requested again only on the user's request`() {
        finish(7)
        run.result(7, Refusal(code: "denied", message: "no"))
        #expect(run.status(.healthKit)?.status == .failed)
        finish(8)
        run.pass(86_400)
        #expect(run.status(.healthKit)?.status == .failed)
        run.request(.healthKit)
        run.pass(1)
        #expect(run.status(.healthKit)?.status == .exporting && run.status(.healthKit)?.workout == 8)
    }

    @Test mutating func `in watch mode no request is published, and the watch's result ends the export`() {
        let start = run.now
        finish(7, mode: .watch)
        run.pass(86_390)
        let status = run.status(.healthKit)
        #expect(status?.status == .pending && status?.mode == .watch && status?.healthKit == nil)
        #expect(status?.nextAttemptAt == start + 86_400)
        finish(8, mode: .watch)
        #expect(run.status(.healthKit)?.workout == 8)
        #expect(run.result(7)?.ok == true)
        #expect(run.status(.healthKit)?.status == .done && run.status(.healthKit)?.mode == .watch)
        finish(9, mode: .watch)
        run.request(nil)
        run.pass(1)
        #expect(run.status(.healthKit)?.status == .done)
    }

    @Test mutating func `24 hours after the workout the phone is asked for a silent watch, and has 48 hours`() throws {
        finish(7, mode: .watch)
        run.pass(80_000)
        // A later revision leaves the watch no more time.
        finish(8, mode: .watch)
        run.crash()
        #expect(run.status(.healthKit)?.status == .pending)
        run.pass(86_400 - 80_002 + 1)
        run.pass(1)
        let status = try #require(run.status(.healthKit))
        #expect(status.status == .exporting && status.mode == .phone && status.reason?.contains("watch") == true)
        let workout = try #require(status.healthKit)
        #expect(workout.metadata.syncIdentifier == "\(ExportMachineRun.key)" && workout.metadata.syncVersion == 8)
        #expect(workout.startDate < workout.endDate)
        run.pass(47 * 3_600)
        #expect(run.status(.healthKit)?.status == .exporting)
        run.pass(3_600)
        #expect(run.status(.healthKit)?.status == .failed)
    }

    @Test(arguments: [Mode.watch, .phone], [false, true])
    mutating func `a status stays until it is done or failed, also when the exporter was down for days`(
        mode: Mode, isBackingOff: Bool
    ) {
        finish(7, mode: mode)
        if isBackingOff { run.result(7, fault) }
        run.pass(0)
        run.pause(7 * 86_400)
        run.crash()
        var last: ExportStatus.Status?
        for _ in 0..<(5 * 24) {
            run.pass(3_600)
            guard let status = run.status(.healthKit)?.status else { break }
            last = status
        }
        #expect(run.status(.healthKit) == nil && last == .failed)
    }

    @Test mutating func `after a failure of the watch the phone performs the export for good`() {
        finish(7, mode: .watch)
        run.result(7, Refusal(code: "denied", message: "no"))
        run.pass(1)
        #expect(run.status(.healthKit)?.status == .exporting && run.status(.healthKit)?.mode == .phone)
        #expect(run.status(.healthKit)?.healthKit?.metadata.syncVersion == 7)
        run.result(7)
        finish(8, mode: .watch)
        #expect(run.status(.healthKit)?.status == .exporting && run.status(.healthKit)?.workout == 8)
    }

    @Test(arguments: ["unavailable", "denied"])
    mutating func `after the phone takes over, more failures of the watch change nothing`(code: String) throws {
        let failure = Refusal(code: code, message: "the watch's")
        finish(7, mode: .watch)
        run.result(7, failure, from: "watch-app")
        // Before the phone is asked, only the watch can fail, also as another client.
        #expect(run.result(7, failure, from: "watch-app-again")?.ok == true)
        #expect(run.status(.healthKit)?.status == .pending)
        run.pass(1)
        let asked = try #require(run.status(.healthKit))
        #expect(asked.status == .exporting && asked.attempts == 0)
        run.result(7, failure, from: "watch-app")
        run.crash()
        run.result(7, failure, from: "watch-app")
        run.result(7, failure, from: "watch-app-again", mode: .watch)
        #expect(run.status(.healthKit) == asked)
        run.result(7, fault, from: "phone-app")
        #expect(run.status(.healthKit)?.attempts == 1 && run.status(.healthKit)?.reason == fault.message)
        // A watch that has saved it after all ends the export.
        run.result(7, from: "watch-app", mode: .watch)
        #expect(run.status(.healthKit)?.status == .done)
    }

    @Test mutating func `a late denied of a silent watch does not end the phone's export`() throws {
        let denied = Refusal(code: "denied", message: "no")
        finish(7, mode: .watch)
        run.pass(86_400)
        run.pass(1)
        #expect(run.status(.healthKit)?.status == .exporting && run.status(.healthKit)?.mode == .phone)
        run.result(7, denied, from: "watch-app")
        #expect(run.status(.healthKit)?.status == .pending && run.status(.healthKit)?.attempts == 1)
        run.pass(60)
        #expect(run.status(.healthKit)?.status == .exporting)
        run.result(7, denied, from: "phone-app", mode: .phone)
        #expect(run.status(.healthKit)?.status == .failed)
    }

    @Test mutating func `in watch mode a failure of the phone changes nothing`() throws {
        finish(7, mode: .watch)
        let pending = try #require(run.status(.healthKit))
        #expect(run.result(7, fault, from: "phone-app", mode: .phone)?.ok == true)
        #expect(run.status(.healthKit) == pending)
        run.result(7, fault, from: "watch-app", mode: .watch)
        run.pass(1)
        run.result(7, fault, from: "phone-app")
        #expect(run.status(.healthKit)?.mode == .phone && run.status(.healthKit)?.attempts == 1)
    }

    @Test mutating func `a request that names HealthKit overrides a silent watch`() {
        finish(7, mode: .watch)
        run.request(nil)
        run.pass(1)
        #expect(run.status(.healthKit)?.status == .pending)
        run.request(.healthKit)
        run.pass(1)
        #expect(run.status(.healthKit)?.status == .exporting && run.status(.healthKit)?.mode == .phone)
    }

    @Test mutating func `a newer workout is requested again, and a result for the older one changes nothing`() {
        finish(7)
        finish(8)
        #expect(run.status(.healthKit)?.healthKit?.metadata.syncVersion == 8)
        #expect(run.result(7)?.ok == true)
        #expect(run.result(7, Refusal(code: "denied", message: "no"))?.ok == true)
        #expect(run.status(.healthKit)?.status == .exporting)
        #expect(run.result(8)?.ok == true)
        finish(9)
        #expect(run.status(.healthKit)?.status == .exporting && run.status(.healthKit)?.workout == 9)
    }

    @Test mutating func `a repeated result gets a reply and counts once`() {
        finish(7)
        let id = CommandID("6f9619ff-8b86-4011-b42d-00c04fc964aa")!
        #expect(run.result(7, fault, id: id)?.ok == true)
        run.pass(60)
        run.crash()
        #expect(run.result(7, fault, id: id)?.ok == true)
        #expect(run.status(.healthKit)?.status == .exporting && run.status(.healthKit)?.attempts == 1)
    }

    @Test mutating func `a result without a request is refused`() {
        #expect(run.result(7)?.error?.code == "session_not_found")
        run.receive(ExportMachineRun.workout(7))
        #expect(run.result(7, target: .folder)?.error?.code == "invalid_command")
        #expect(run.result(8)?.error?.code == "invalid_command")
        #expect(run.status(.folder)?.status == .pending)
    }

    @Test mutating func `a long reason of a device is truncated`() {
        finish(7)
        run.result(7, Refusal(code: "unavailable", message: String(repeating: "x", count: 100_000)))
        #expect(run.status(.healthKit)?.reason?.count == 200)
    }
}
