import Bus
import Client
import Logging
import MQTT
import Workouts

@testable import LiveActivityPublisher
@testable import ServiceKit

/// Payloads of requests, virtual runs, statuses and the broker.
extension Target {
    /// Requests without a reader of their own.
    static func readRequests(_ bytes: [UInt8]) {
        roundTrip(SessionRequest.self, bytes)
        roundTrip(ViewerRequest.self, bytes)
        roundTrip(ImportRequest.self, bytes)
        roundTrip(SignOut.self, bytes)
        roundTrip(ActivityRegistration.self, bytes)
        roundTrip(NotificationRegistration.self, bytes)
        _ = roundTrip(CoachReply.self, bytes)?.validationError
    }

    static func readRunView(_ bytes: [UInt8]) {
        roundTrip(RunPeople.self, bytes)
        roundTrip(RunOverview.self, bytes)
        roundTrip(RunSplits.self, bytes)
        roundTrip(RunRoute.self, bytes)
        guard let view = roundTrip(VirtualRunView.self, bytes) else { return }
        _ = RunAlert(view)
        if let ticket = RunTicket(view, now: now, offset: 1.5) { roundTrip(RunTicket.self, JSONCoding.encode(ticket)) }
    }

    static func readPartners(_ bytes: [UInt8]) {
        roundTrip(RunPositions.self, bytes)
        guard let partners = try? JSONCoding.decode(Partners.self, from: bytes) else { return }
        check(try? JSONCoding.decode(Partners.self, from: partners.payload), partners)
        for row in partners.nearest(3) { _ = partners.metres(of: row, beside: 1_000) }
        _ = NearestPartner(partners)
    }

    /// What services read of payloads that they do not decode.
    static func readHeads(_ bytes: [UInt8]) {
        let newest = [(try? RunnerMetrics(bytes[...]))?.newest, (try? PayloadHead(bytes[...]))?.newest]
        for time in newest.compactMap(\.self) { _ = now.seconds(since: time) }
        _ = RunnerMetrics.namesRun(bytes[...])
        _ = try? ChunkHead(bytes[...])
        _ = try? JSONCoding.decode(SummaryHead.self, from: bytes)
        _ = try? JSONCoding.decode(SeenRevision.self, from: bytes)
        _ = try? JSONCoding.decode(Presence.Payload.self, from: bytes)
        if let profile = try? SessionProfile(bytes) { roundTrip(SessionProfile.self, JSONCoding.encode(profile)) }
    }

    /// The parts of files in both directions.
    static func readParts(_ bytes: [UInt8]) {
        roundTrip(ImportPart.self, bytes)
        roundTrip(ImportAck.self, bytes)
        roundTrip(FilePart.self, bytes)
    }

    static func readStatuses(_ bytes: [UInt8]) {
        roundTrip(ImportStatus.self, bytes)
        roundTrip(ExportStatus.self, bytes)
        roundTrip(ExportResult.self, bytes)
        roundTrip(HealthKitWorkout.self, bytes)
        roundTrip(ActivityStatus.self, bytes)
        roundTrip(Rejection.self, bytes)
        guard var ended = roundTrip(SignedOut.self, bytes) else { return }
        ended.end(.one("1f"), revision: 2, at: now)
        roundTrip(SignedOut.self, JSONCoding.encode(ended))
    }

    static func readHistory(_ bytes: [UInt8]) {
        roundTrip(HistoryRequest.self, bytes)
        roundTrip(HistoryCursor.self, bytes)
        roundTrip(ChangeCursor.self, bytes)
        roundTrip(WorkoutChange.self, bytes)
        roundTrip(WorkoutOverview.self, bytes)
    }

    static func readPlan(_ bytes: [UInt8]) {
        if let definition = try? WorkoutDefinition(file: bytes) {
            roundTrip(WorkoutDefinition.self, JSONCoding.encode(definition))
        }
        roundTrip(SavedPlans.self, bytes)
        roundTrip(CoachRequest.self, bytes)
        guard let state = roundTrip(PlanState.self, bytes), state.isConsistent else { return }
        _ = PlanBlock(state)
    }

    /// Lines: a topic and payloads on it.
    static func readMessage(_ bytes: [UInt8]) {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 4, omittingEmptySubsequences: false)
        let name = String(decoding: lines[0], as: UTF8.self)
        let rule = Topic.queueRule(name)
        let topic = Topic(name)
        if let row = topic?.row { check(rule.kind, row.queue) }
        _ = Topic.publisher(name)
        _ = Topic.partition(of: name, among: 3)
        let rejection = Rejection(badTopic: name) { _ in true }
        if let rejection { roundTrip(Rejection.self, JSONCoding.encode(rejection)) }
        let messages = lines.dropFirst().map { MQTTMessage(topic: name, payload: Array($0), qos: .atMostOnce) }
        var rejections = Rejections(service: "fuzz", logger: Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() })
        var processes = OnlineProcesses()
        for message in messages {
            if let rejection { _ = rejections.reject(message, rejection, at: moment) }
            _ = try? AccountRights(message)
            if case .presence(_, let process)? = topic { try? processes.receive(message, of: process, moment) }
        }
        _ = BrokerFigures(metrics: PrometheusMetrics()).observe(MQTTBatch(messages: messages) {})
    }
}
