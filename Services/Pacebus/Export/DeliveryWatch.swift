import Bus
import Client
import MQTT
import ServiceKit
import Workouts

/// Requests a delivery from the exporter and follows its status. A value without a clock.
struct DeliveryWatch {
    /// Seconds without a reply, or without a status after it.
    static let timeout = 60.0
    /// Seconds without news of an open delivery.
    static let openTimeout = 300.0
    /// Seconds from the reply to the statuses of all deliveries.
    static let grace = 2.0

    /// A target at the level that the filter replaces.
    private static let anyTarget = Target("any")!

    let key: SessionKey
    /// `nil` for all targets; the command does not wait for a user's device then.
    let target: Target?
    private let client: Client
    private let request: SessionRequest
    private var repeated = RepeatedRequest()
    /// The last connect, reply or new status.
    private var newsAt: Moment
    private var acceptedAt: Moment?
    /// Whether retained statuses are older than the request.
    private var isNew = true
    private var old: [Target: ExportStatus] = [:]
    private var new: [Target: ExportStatus] = [:]

    init(_ key: SessionKey, target: Target?, client: Client, id: CommandID, now: Moment) {
        self.key = key
        self.target = target
        self.client = client
        request = SessionRequest(id: id, client: client, action: .export(target))
        newsAt = now
    }

    var subscriptions: [MQTTSubscription] {
        let status = target.map { TopicFilter.topic(.session(key, .export($0))) }
        return [
            TopicFilter.topic(.user(key.user, .replies(client))),
            status ?? TopicFilter.anyLast(.session(key, .export(Self.anyTarget))),
        ]
    }

    /// Whether the exporter has accepted the request.
    var isAccepted: Bool { acceptedAt != nil }

    mutating func connected(_ now: Moment) {
        repeated.connect()
        newsAt = now
    }

    mutating func disconnected() {
        repeated.disconnect()
        isNew = false
    }

    /// Handles a message of the exporter.
    ///
    /// - Returns: a status that is newer than the request.
    mutating func receive(_ message: MQTTMessage, _ now: Moment) throws(DeliveryFailure) -> ExportStatus? {
        guard !message.payload.isEmpty else { return nil }
        switch Topic(message.topic) {
        case .user(_, .replies):
            let reply = try Self.read(Reply.self, message)
            guard reply.id == request.id, acceptedAt == nil else { return nil }
            if let refusal = reply.error { throw .refused(key, refusal) }
            acceptedAt = now
            newsAt = now
            return nil
        case .session(_, .export(let target)):
            let status = take(try Self.read(ExportStatus.self, message), target, isRetained: message.retain)
            if status != nil { newsAt = now }
            return status
        default: return nil
        }
    }

    private static func read<Payload: Decodable>(
        _ type: Payload.Type, _ message: MQTTMessage
    ) throws(DeliveryFailure) -> Payload {
        do throws(PayloadError) {
            return try JSONCoding.decode(type, from: message.payload)
        } catch {
            throw .invalidMessage(topic: message.topic, error)
        }
    }

    private mutating func take(_ status: ExportStatus, _ target: Target, isRetained: Bool) -> ExportStatus? {
        guard status.revision > latest[target]?.revision ?? -1 else { return nil }
        if isRetained, isNew, acceptedAt == nil {
            old[target] = status
            return nil
        }
        new[target] = status
        return status
    }

    /// The request to send now, if it is due.
    ///
    /// - Throws: after a timeout.
    mutating func takeRequest(_ now: Moment) throws(DeliveryFailure) -> MQTTMessage? {
        let silence = now.seconds(since: newsAt)
        if isAccepted {
            guard !watched.isEmpty || silence < Self.timeout else { throw .noStatus }
            guard silence < Self.openTimeout else { throw .open(watched.filter(\.isOpen)) }
            return nil
        }
        guard silence < Self.timeout else { throw repeated.isConnected ? .noReply : .noConnection }
        return repeated.takeTurn(now) ? Topic.session(key, .request).message(JSONCoding.encode(request)) : nil
    }

    /// The final status of each target; `nil` while a delivery is open.
    ///
    /// A target without a new status had nothing to deliver.
    func outcome(_ now: Moment) -> [ExportStatus]? {
        guard let acceptedAt, !latest.isEmpty, watched.allSatisfy({ !$0.isOpen }) else { return nil }
        let isNews = target.map { new[$0] != nil } ?? false
        guard isNews || now.seconds(since: acceptedAt) >= Self.grace else { return nil }
        return watched
    }

    private var latest: [Target: ExportStatus] { old.merging(new) { $1 } }

    private var watched: [ExportStatus] {
        latest.values.filter { target != nil || $0.mode == nil }.sorted { $0.target < $1.target }
    }
}
