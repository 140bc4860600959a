import Bus
import Client
import Foundation
import MQTT
import ServiceKit
import Workouts

/// Sends the parts of a file and follows its import. A value without a clock.
struct FileUpload {
    /// Seconds without any message of importer.
    static let timeout = 60.0
    /// Bytes a second, so that live items of the same account keep their latency.
    private static let rate = 768.0 * 1_024
    /// Parts in flight.
    private static let window = 20
    /// Seconds without an acknowledgement until parts are sent again.
    private static let stall = 10.0

    private let user: User
    private let id = ImportID(UUID())
    private let parts: [ImportPart]
    private let importsDuplicates: Bool
    private let client: Client
    private var isConnected = false
    /// Parts below are stored; parts from `next` on are not sent.
    private var acknowledged = 0
    private var next = 0
    /// When the next part may be sent, and when the first unacknowledged one is sent again.
    private var sendAt: Moment
    private var repeatAt: Moment?
    private var newsAt: Moment
    private var status: ImportStatus?
    /// The answer to a question.
    private var answer: ImportRequest?
    private var request = RepeatedRequest()

    init(
        user: User, name: String, content: Data, importsDuplicates: Bool, client: Client, now: Moment
    ) {
        (self.user, self.importsDuplicates, self.client) = (user, importsDuplicates, client)
        // The rest of half a character takes three bytes.
        let name = String(
            decoding: name.escapingControlCharacters().utf8.prefix(ImportPart.nameLimit - 3), as: UTF8.self)
        parts = ImportPart.all(of: content, name: name)
        (sendAt, newsAt) = (now, now)
    }

    var subscriptions: [MQTTSubscription] {
        [.importStatus(id), .importAck(id), .replies(client)].map { TopicFilter.topic(.user(user, $0)) }
    }

    /// The last status, once the import is over.
    var outcome: ImportStatus? { status.flatMap { $0.status.isOver ? $0 : nil } }

    var progress: String {
        guard let status else { return "waiting for importer" }
        switch status.status {
        case .receiving: return "\(acknowledged * 100 / parts.count) % uploaded"
        case .logging: return "\(Int((status.progress ?? 0) * 100)) % logged"
        case .waiting: return "waiting: \(status.reason ?? "")"
        case .reading, .asking, .done, .refused: return status.status.rawValue
        }
    }

    mutating func connected(_ now: Moment) {
        isConnected = true
        (next, newsAt) = (acknowledged, now)
        request.connect()
    }

    mutating func disconnected() {
        isConnected = false
        request.disconnect()
    }

    mutating func receive(_ message: MQTTMessage, _ now: Moment) throws(ImportFailure) {
        guard !message.payload.isEmpty else { return }
        newsAt = now
        switch Topic(message.topic) {
        // Those of the file before may still come.
        case .user(_, .importAck(id)):
            guard let ack = try? JSONCoding.decode(ImportAck.self, from: message.payload) else { return }
            try receive(ack, now)
        case .user(_, .importStatus(id)):
            guard let received = try? JSONCoding.decode(ImportStatus.self, from: message.payload),
                received.revision > status?.revision ?? -1
            else { return }
            status = received
            guard received.status == .asking, answer == nil else { return }
            answer = ImportRequest(
                id: CommandID(UUID()), client: client, action: importsDuplicates ? .log(id) : .skip(id))
        case .user(_, .replies):
            guard let reply = try? JSONCoding.decode(Reply.self, from: message.payload), reply.id == answer?.id,
                case .refused(let refusal) = request.receiveReply(reply.error, now)
            else { return }
            throw .refusedUpload(refusal)
        default: break
        }
    }

    private mutating func receive(_ ack: ImportAck, _ now: Moment) throws(ImportFailure) {
        if let refusal = ack.error {
            guard let seconds = refusal.retryAfter else { throw .refusedUpload(refusal) }
            (next, acknowledged, sendAt) = (0, 0, now + seconds)
            // Until then no answer is missing.
            newsAt = sendAt
            return
        }
        // A part that was lost on its way is sent again after the stall.
        guard ack.n != acknowledged else { return }
        // With a lower number the service has lost parts.
        next = ack.n < acknowledged ? ack.n : max(next, ack.n)
        acknowledged = min(ack.n, parts.count)
        repeatAt = now + Self.stall
    }

    /// The messages to send now.
    mutating func takeOutgoing(_ now: Moment) throws(ImportFailure) -> [MQTTMessage] {
        guard now.seconds(since: newsAt) < Self.timeout || status?.status == .waiting else { throw .noAnswer }
        guard isConnected else { return [] }
        if let answer, request.takeTurn(now) {
            return [Topic.user(user, .importRequest).message(JSONCoding.encode(answer))]
        }
        guard now >= sendAt else { return [] }
        if let repeatAt, now >= repeatAt { next = acknowledged }
        guard next < parts.count, next < acknowledged + Self.window else { return [] }
        let part = parts[next]
        if next == acknowledged { repeatAt = now + Self.stall }
        next += 1
        // Ticks are no multiples of the interval.
        sendAt = (now.seconds(since: sendAt) < 1 ? sendAt : now) + Double(part.content.count) / Self.rate
        return [Topic.user(user, .importParts(id)).message(JSONCoding.encode(part))]
    }
}
