import Bus
import Testing
import Workouts

@testable import Exporter

/// An upload happens once, under a key that makes a repetition harmless.
struct MachineUploadTests {
    private var run = ExportMachineRun()
    private let key = ExportMachineRun.key

    private mutating func send(_ delivery: Delivery = .delivered()) throws -> String {
        let work = try #require(run.begin().first)
        run.end(work, delivery)
        return try #require(work.destinations.first).idempotencyKey
    }

    @Test mutating func `a later workout is uploaded on request only, under a new key`() throws {
        run.receive(ExportMachineRun.workout(7), targets: [.upload])
        #expect(try send() == "\(key)/upload")
        run.receive(ExportMachineRun.workout(8), targets: [.upload])
        #expect(run.begin().isEmpty && run.status(.upload)?.workout == 7)
        run.request(.upload)
        #expect(run.status(.upload)?.status == .pending && run.status(.upload)?.workout == 8)
        let again = try send()
        #expect(again.hasPrefix("\(key)/upload/"))
        #expect(run.status(.upload)?.status == .done)
        run.receive(ExportMachineRun.workout(9), targets: [.upload])
        run.crash()
        #expect(run.begin().isEmpty)
    }

    @Test mutating func `each request after a delivery has a new key, also for the same workout`() throws {
        run.receive(ExportMachineRun.workout(7), targets: [.upload])
        var keys = [try send()]
        for _ in 0..<3 {
            run.request(.upload)
            keys.append(try send())
            run.crash()
        }
        #expect(Set(keys).count == 4)
    }

    @Test mutating func `until the first delivery the newest workout is sent under one key`() throws {
        run.receive(ExportMachineRun.workout(7), targets: [.upload])
        let first = try send(.failed("timed out"))
        run.receive(ExportMachineRun.workout(8), targets: [.upload])
        run.pass(60)
        run.crash()
        let work = try #require(run.begin().first)
        #expect(work.workout == 8 && work.destinations.map(\.idempotencyKey) == [first])
    }

    @Test mutating func `the key of a repeated upload stays until its delivery`() throws {
        run.receive(ExportMachineRun.workout(7), targets: [.upload])
        _ = try send()
        run.request(.upload)
        let again = try send(.failed("500"))
        #expect(again != "\(key)/upload")
        run.receive(ExportMachineRun.workout(8), targets: [.upload])
        run.request(.upload)
        run.crash()
        #expect(try send(.refused("401")) == again)
        run.request(.upload)
        #expect(try send() == again)
        run.pass(3_600)
        #expect(run.begin().isEmpty)
    }

    @Test mutating func `a request during a delivery sends nothing twice`() throws {
        run.receive(ExportMachineRun.workout(7), targets: [.upload])
        let work = try #require(run.begin().first)
        #expect(run.request(.upload)?.ok == true)
        run.end(work, .delivered())
        #expect(run.begin().isEmpty && run.status(.upload)?.status == .done)
    }

    @Test mutating func `a request during the delivery of an older workout sends the newer one after it`() throws {
        run.receive(ExportMachineRun.workout(7), targets: [.upload])
        let work = try #require(run.begin().first)
        run.receive(ExportMachineRun.workout(8), targets: [.upload])
        run.request(.upload)
        run.end(work, .delivered())
        let again = try #require(run.begin().first)
        #expect(again.workout == 8 && again.destinations.map(\.idempotencyKey) != ["\(key)/upload"])
        run.end(again, .delivered())
        #expect(run.begin().isEmpty)
    }

    @Test(arguments: [Delivery.delivered(), .failed("500"), .refused("401")])
    mutating func `a request during a repeated upload of an older workout sends the newer one after it, once`(
        ending: Delivery
    ) throws {
        run.receive(ExportMachineRun.workout(7), targets: [.upload])
        var keys = [try send()]
        run.request(.upload)
        let older = try #require(run.begin().first)
        keys += older.destinations.map(\.idempotencyKey)
        run.receive(ExportMachineRun.workout(8), targets: [.upload])
        for _ in 0..<2 { #expect(run.request(.upload)?.ok == true) }
        run.end(older, ending)
        run.pass(60)
        let newer = try #require(run.begin().first)
        #expect(newer.workout == 8)
        keys += newer.destinations.map(\.idempotencyKey)
        run.end(newer, .delivered())
        #expect(run.begin().isEmpty && run.status(.upload)?.workout == 8 && Set(keys).count == 3)
    }

    @Test mutating func `a request during a failing delivery of an older workout sends the newer one once`() throws {
        run.receive(ExportMachineRun.workout(7), targets: [.upload])
        let work = try #require(run.begin().first)
        run.receive(ExportMachineRun.workout(8), targets: [.upload])
        run.request(.upload)
        run.end(work, .failed("500"))
        run.pass(60)
        #expect(try send() == "\(key)/upload")
        #expect(run.begin().isEmpty && run.status(.upload)?.workout == 8)
    }

    @Test mutating func `a request ends the backoff`() throws {
        run.receive(ExportMachineRun.workout(7, isIncomplete: true), targets: [.upload])
        run.request(.upload)
        #expect(try send(.failed("500")) == "\(key)/upload")
        run.request(.upload)
        #expect(run.begin().count == 1)
    }

    @Test mutating func `a repeated request gets a reply and is performed once, also over a crash`() throws {
        run.receive(ExportMachineRun.workout(7))
        for work in run.begin() { run.end(work, .delivered()) }
        let id = CommandID("6f9619ff-8b86-4011-b42d-00c04fc964aa")!
        #expect(run.request(nil, id: id)?.ok == true)
        let works = run.begin()
        #expect(works.flatMap(\.destinations).map(\.target) == [.folder, .upload])
        for work in works { run.end(work, .delivered()) }
        #expect(run.request(nil, id: id)?.ok == true)
        run.crash()
        #expect(run.request(nil, id: id)?.ok == true)
        #expect(run.begin().isEmpty && run.replies.count == 3)
    }

    @Test mutating func `a request for an unknown session or target is refused and changes nothing`() {
        #expect(run.request(.upload)?.error?.code == "session_not_found")
        run.receive(ExportMachineRun.workout(7), targets: [.folder])
        #expect(run.request(.upload, targets: [.folder])?.error?.code == "invalid_command")
        #expect(run.status(.upload) == nil)
        let refusal = run.request(Target("elsewhere")!)?.error
        #expect(refusal?.code == "invalid_command")
        #expect(
            refusal?.message == "target: unknown export target 'elsewhere'; configured: folder, upload, healthkit")
    }

    @Test mutating func `a newly configured target takes older workouts on request`() throws {
        run.receive(ExportMachineRun.workout(7), targets: [.folder])
        for work in run.begin() { run.end(work, .delivered()) }
        #expect(run.request(.upload)?.ok == true)
        #expect(try send() == "\(key)/upload")
    }
}
