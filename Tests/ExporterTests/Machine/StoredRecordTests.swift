import Bus
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Exporter

/// Records as version 0.1 stored them, before targets had policies.
struct StoredRecordTests {
    private var machine = ExporterMachine()
    private let key = MachineRun.key
    private let now = Timestamp(seconds: 1_800_000_002)

    private mutating func load(_ record: String) throws -> ExportRecord {
        let decoded = try JSONCoding.decode(ExportRecord.self, from: Array(record.utf8), now: Moment(now))
        _ = machine.load(decoded, of: key, now: Moment(now))
        let loaded = try #require(machine.entries[key]?.record)
        #expect(try JSONCoding.decode(ExportRecord.self, from: JSONCoding.encode(loaded), now: Moment(now)) == loaded)
        return loaded
    }

    @Test mutating func `a record with deliveries in progress is read, and they are due at once`() throws {
        let record = try load(Self.begun)
        #expect(record[.healthKit]?.mode == .watch && record[.healthKit]?.status == .pending)
        let work = try #require(machine.begin(now: Moment(now), room: [.folder: 1, .upload: 1]).works.first)
        #expect(work.workout == 7 && work.summaries == ["metrics": 7])
        #expect(work.destinations.map(\.target) == [.folder, .upload])
        #expect(work.destinations.last?.idempotencyKey == "\(key)/upload")
    }

    @Test mutating func `a record with files, a failed upload and a request to a phone is read`() throws {
        let record = try load(Self.changed)
        #expect(record.workout.healthKit.metadata.syncVersion == 8)
        #expect(record[.folder]?.files == ["anna/b.fit"] && record[.folder]?.delivered == 8)
        #expect(record[.healthKit]?.mode == .phone && record[.healthKit]?.status == .exporting)
        #expect(record.hasAnswered(CommandID("6f9619ff-8b86-4011-b42d-00c04fc964aa")!))
        let upload = try #require(record[.upload])
        #expect(upload.attempts == 1 && upload.reason == "500 Internal Server Error")
        #expect(upload.nextAttemptAt?.wallClock == Timestamp(seconds: 1_800_000_091))
        #expect(upload.idempotencyKey(of: key) == "\(key)/upload/1800000000002")
        #expect(machine.begin(now: Moment(now + 89), room: [.upload: 1]).works.count == 1)
    }

    private static let begun = """
        {"answered":[],"changedAt":1800000000,"jobs":[{"attempts":0,"files":[],"oldFiles":[],"revision":1800000000001,\
        "status":"exporting","target":"folder","workout":7},{"attempts":0,"files":[],"mode":"watch","oldFiles":[],\
        "revision":1800000000000,"status":"pending","target":"healthkit","workout":7},{"attempts":0,"files":[],\
        "oldFiles":[],"revision":1800000000001,"status":"exporting","target":"upload","workout":7}],\
        "workout":{"files":["anna/a.fit","anna/a.csv"],"healthKit":{"activityType":37,"duration":3540,\
        "endDate":1799993600,"events":[{"date":1799990600,"type":1},{"date":1799990660,"type":2}],"locationType":3,\
        "metadata":{"HKExternalUUID":"6f9619ff-8b86-d011-b42d-00c04fc964ff","HKIndoorWorkout":false,\
        "HKSyncIdentifier":"anna/6f9619ff-8b86-d011-b42d-00c04fc964ff","HKSyncVersion":7},"quantities":[],\
        "seriesRevision":7,"startDate":1799990000},"mode":"watch","readyAt":1800000000,"revision":7,\
        "summaries":{"metrics":7}}}
        """

    private static let changed = """
        {"answered":["6f9619ff-8b86-4011-b42d-00c04fc964aa"],"changedAt":1800000001,"jobs":[{"attempts":0,\
        "delivered":8,"files":["anna/b.fit"],"oldFiles":["anna/a.csv","anna/a.fit"],"revision":1800000001001,\
        "status":"done","target":"folder","workout":8},{"attempts":0,"files":[],"isAsked":true,"mode":"phone",\
        "nextAttemptAt":1800000061,"oldFiles":[],"revision":1800000001000,"status":"exporting","target":"healthkit",\
        "workout":8},{"again":1800000000002,"attempts":1,"delivered":7,"files":[],"nextAttemptAt":1800000091,\
        "oldFiles":[],"reason":"500 Internal Server Error","revision":1800000001001,"status":"pending",\
        "target":"upload","workout":8}],"workout":{"files":["anna/b.fit"],"healthKit":{"activityType":37,\
        "duration":3540,"endDate":1799993600,"events":[{"date":1799990600,"type":1},{"date":1799990660,"type":2}],\
        "locationType":3,"metadata":{"HKExternalUUID":"6f9619ff-8b86-d011-b42d-00c04fc964ff","HKIndoorWorkout":false,\
        "HKSyncIdentifier":"anna/6f9619ff-8b86-d011-b42d-00c04fc964ff","HKSyncVersion":8},"quantities":[],\
        "seriesRevision":8,"startDate":1799990000},"mode":"phone","readyAt":1800000000,"revision":8,\
        "summaries":{"metrics":8}}}
        """
}
