import Bus
import NIOHTTP1
import Workouts

@testable import Exporter
@testable import Importer
@testable import LiveActivityPublisher
@testable import SessionEngine
@testable import VirtualRun
@testable import WeatherFetcher

/// The records of services, and the answers of servers.
extension Target {
    static func readSessionRecord(_ bytes: [UInt8]) {
        roundTripRecord(UserRecord.self, bytes)
        roundTripRecord(UserQuota.self, bytes)
        roundTrip(ChangeLog.self, bytes)
        _ = try? JSONCoding.decode(StoredRevisions.self, from: bytes)
        guard var record = roundTripRecord(SessionRecord.self, bytes) else { return }
        record.limit(to: moment)
        roundTrip(SessionState.self, JSONCoding.encode(record.state))
        _ = (record.isComplete, record.isShort, record.isRevised, record.lacksEditOfTotals, record.cueDue)
    }

    static func readRunRecord(_ bytes: [UInt8]) {
        roundTripRecord(PersonRecord.self, bytes)
        roundTripRecord(LiveRun.Stored.self, bytes)
        roundTripRecord(RunListing.self, bytes)
        roundTripRecord(RunPart.self, bytes)
        roundTripRecord(InvitationTally.self, bytes)
        if let curves = roundTripRecord([User: RunCurve].self, bytes) {
            for curve in curves.values { _ = (curve.seconds(to: 1_000), curve.metres(at: 60)) }
        }
        if let route = roundTripRecord(FinalRecord.self, bytes)?.route,
            let key = HidingKey([UInt8](repeating: 7, count: 16))
        {
            let shared = route.shared(hideNear: 200, key: key, withHeartRate: true)
            check(shared.polyline.joined().utf8.count <= RunnerRoute.sizeLimit, true)
        }
        guard var record = roundTripRecord(RunRecord.self, bytes) else { return }
        record.limit(to: moment)
        for participant in record.run.participants {
            _ = record.run.overview(for: participant.user)
            _ = record.workout(of: participant)
        }
        _ = record.run.due
    }

    static func readActivityRecord(_ bytes: [UInt8]) {
        if var record = roundTripRecord(ActivityRecord.self, bytes) { record.limit(to: moment) }
        if var record = roundTripRecord(NotificationRecord.self, bytes) { record.limit(to: moment) }
    }

    /// Exports and imports.
    static func readJobRecord(_ bytes: [UInt8]) {
        if var record = roundTripRecord(ExportRecord.self, bytes) {
            record.limit(to: moment)
            _ = (record.dueAt, record.isOld(moment), record.isAtRest(moment))
        }
        guard var record = roundTripRecord(ImportRecord.self, bytes), let user = User("demo"),
            let id = ImportID("6f9619ff-8b86-4011-b42d-00c04fc964ff")
        else { return }
        record.limit(to: moment)
        roundTrip(ImportStatus.self, JSONCoding.encode(record.status(of: ImportKey(user, id), progress: 0.5)))
        for workout in record.workouts { _ = workout.resembles(now, now + 900) }
    }

    /// Lines: a header of a server's answer, then its body.
    static func readAnswers(_ bytes: [UInt8]) {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
        let headers = HTTPHeaders([("Retry-After", String(decoding: lines[0], as: UTF8.self))])
        let body = Array(lines.last ?? [])
        let answer = APNsAnswer(status: 429, headers: headers, body: body, now: now)
        if let pause = answer.retryAfter { check((0...APNsAnswer.longestPause).contains(pause), true) }
        _ = answer.consequence
        roundTripRecord(WeatherRecord.self, body)
        for answer in [try? OpenMeteo().read(body), try? METNorway().read(body)] {
            guard let observation = answer?.observation, observation.isPlausible else { continue }
            roundTrip(Observation.self, JSONCoding.encode(observation.plausible))
        }
    }
}
