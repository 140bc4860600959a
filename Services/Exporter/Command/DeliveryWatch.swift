import Bus
import MQTT
import Workouts

/// Asks the exporter to deliver a workout again and watches how it ends. A value without a clock.
struct DeliveryWatch {
    /// Seconds until nobody can be expected to answer any more.
    static let patience = 60.0
    /// Seconds without news of what has been begun until it is left to the exporter.
    static let openPatience = 300.0
    /// Seconds after the reply in which the status of what has been begun comes.
    static let grace = 2.0

    let key: SessionKey
    /// `nil` is wherever the user has workouts brought to; HealthKit is then asked too, but not waited for.
    let target: Target?
    private let request: SessionRequest
    private var timer = RequestTimer()
    /// A connect, the reply, or a new status.
    private var newsAt: Timestamp
    private var acceptedAt: Timestamp?
    /// Whether what is retained is from before the request.
    private var isNew = true
    private var old: [Target: ExportStatus] = [:]
    private var new: [Target: ExportStatus] = [:]

    init(_ key: SessionKey, target: Target?, client: Client, id: CommandID, now: Timestamp) {
        self.key = key
        self.target = target
        request = SessionRequest(id: id, client: client, action: .export(target))
        newsAt = now
    }

    var subscriptions: [MQTTSubscription] {
        let status = target.map { TopicFilter.topic(.session(key, .export($0))) }
        return [
            TopicFilter.topic(.user(key.user, .replies(request.client))),
            status ?? TopicFilter.anyLast(.session(key, .export(.folder))),
        ]
    }

    /// Whether the exporter has taken the request.
    var isAccepted: Bool { acceptedAt != nil }

    mutating func connected(_ now: Timestamp) {
        timer.connected(now)
        newsAt = now
    }

    mutating func disconnected() {
        timer.disconnected()
        isNew = false
    }

    /// Takes what the exporter says.
    ///
    /// - Returns: a status that is newer than the request.
    mutating func receive(_ message: MQTTMessage, _ now: Timestamp) throws(DeliveryFailure) -> ExportStatus? {
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
            throw .unreadable(topic: message.topic, error)
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
    /// - Throws: when nothing can be expected any more.
    mutating func takeRequest(_ now: Timestamp) throws(DeliveryFailure) -> SessionRequest? {
        let silence = now.seconds(since: newsAt)
        if isAccepted {
            guard !watched.isEmpty || silence < Self.patience else { throw .noStatus }
            guard silence < Self.openPatience else { throw .open(watched.filter(\.isOpen)) }
            return nil
        }
        guard silence < Self.patience else { throw timer.isConnected ? .noAnswer : .noConnection }
        return timer.take(now) ? request : nil
    }

    /// How it ended, with each target that is waited for; `nil` while it goes on.
    ///
    /// A target of which nothing new is said had nothing to do.
    func outcome(_ now: Timestamp) -> [ExportStatus]? {
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
