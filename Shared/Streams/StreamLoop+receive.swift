import Bus
import Logging
import MQTT
import ServiceKit
import Storage
import Timing
import Workouts

extension StreamLoop {
    mutating func receiveMessages(_ received: [MQTTMessage], _ now: Moment) async throws {
        let runs = topics.runs(received)
        try await load(runs.filter { $0.messages.contains { !$0.payload.isEmpty } }.compactMap { $0.topic }, now)
        try await replaceCorruptRecords(runs, now)
        for run in runs {
            switch run.topic {
            case .user(let user, .viewerRequest(let viewer))?:
                for message in run.messages { try await receiveViewerRequest(message, of: user, from: viewer, now) }
            case .session(let key, let kind)? where writer.owns(key.session.shard):
                receiveRun(run.messages, key, kind, now)
            case nil:
                for message in run.messages {
                    let rejection = Rejection(badTopic: message.topic, owns: writer.owns)
                    if let rejection { reject(message, rejection, now) }
                }
            default: break
            }
        }
    }

    private mutating func receiveRun(
        _ messages: ArraySlice<MQTTMessage>, _ key: SessionKey, _ kind: SessionTopic, _ now: Moment
    ) {
        let device = Work.kind.device(of: kind)
        // Items change no session but their own, and that only within.
        let session = device == nil ? nil : machine.sessions[key]
        for message in messages {
            do throws(PayloadError) {
                if let device {
                    try acceptBatch(message, from: device, of: key, session, now)
                } else {
                    try receiveMessage(message, key, kind, now)
                }
            } catch {
                reject(message, error, now)
            }
        }
    }

    private mutating func receiveMessage(
        _ message: MQTTMessage, _ key: SessionKey, _ kind: SessionTopic, _ now: Moment
    ) throws(PayloadError) {
        switch kind {
        case .state where !message.payload.isEmpty:
            // After a restart the broker brings thousands of states that the store has.
            let known = machine.sessions[key]?.state
            if known?.status.isUnfinished == true, try PayloadHead(message.payload).revision == known?.revision {
                break
            }
            let state = try SessionState(message.payload)
            guard state.key == key else { throw .malformed("user or session is not the topic's") }
            machine.receiveState(state, now: now)
            if state.isPast == true { retention.receivePast(key, now) }
            missingRecords.found(key)
            for waiting in pendingBuffer.take(key, now: now) {
                guard case .session(_, let kind)? = topics.topic(waiting.topic) else { continue }
                receiveRun([waiting], key, kind, now)
            }
        case _ where kind == Work.kind.summary && !message.payload.isEmpty:
            let seen = try JSONCoding.decode(SeenRevision.self, from: message.payload)
            guard let session = machine.sessions[key] else { break }
            if !retention.stands(key) {
                // The broker restored a cleared topic.
                send(StreamMachine<Work>.cleared(key), of: key)
            } else if machine.seeSummary(seen.revision, of: session, now: now),
                let summary = machine.knownSummary(session)
            {
                send([summary], of: key)
            }
        case .request:
            let action = try JSONCoding.decode(SessionRequest.self, from: message.payload).action
            guard action == .chunks || action == .track && Work.kind == .locations else { break }
            machine.requestChunks(key)
        case _ where message.payload.isEmpty: break
        case .track(let number): try machine.receiveTrackChunk(message.payload, number, of: key, now: now)
        case .route: machine.receiveLiveRoute(try Work.Live.read(message.payload), of: key, now: now)
        case .profile, .summaryRoute:
            guard machine.sessions[key] != nil else {
                pendingBuffer.add(message, for: key, of: key.user, now: now)
                break
            }
            if kind == .profile {
                machine.receiveProfile(try SessionProfile(message.payload), of: key, now: now)
            } else {
                machine.receiveRouteReport(
                    try JSONCoding.decode(RouteReport.self, from: message.payload), of: key, now: now)
            }
        default: break
        }
    }

    private mutating func acceptBatch(
        _ message: MQTTMessage, from device: Device, of key: SessionKey, _ session: OwnedSession<Work>?, _ now: Moment
    ) throws(PayloadError) {
        let batch = try ItemBatch<Work.Item>(message.payload, accepting: AcceptedTimes(now: now.wallClock))
        guard let session else {
            let overflowed = pendingBuffer.overflowed
            let isAllowed = pendingBuffer.add(message, for: key, of: key.user, now: now)
            if !isAllowed { context.limits.reached("waiting_for_state", by: key.user, at: now) }
            if pendingBuffer.overflowed > overflowed {
                let text = "too many items of sessions without a state are pending; send the session's start first"
                reject(message, Rejection(topic: message.topic, reason: "waiting_for_state", message: text), now)
            }
            return
        }
        let outcome = machine.acceptBatch(batch, from: device, of: session, now: now)
        switch outcome {
        case .taken, .corrected:
            if let flaw = batch.flaw { reject(message, flaw, now) }
            if case .corrected(let error) = outcome { reject(message, error, now) }
        case .repeated, .gap: break
        case .full: throw .tooLarge("more than \(SessionAction.streamLimit) devices")
        case .limited(let limit):
            // The next commit acknowledges what is stored, with the error.
            context.limits.reached(limit.name, by: key.user, at: now, count: batch.items.count)
        case .reused: send(.streamReused, to: device, of: key, now)
        case .dropped: send(.next(batch.first + batch.items.count), to: device, of: key, now)
        }
    }

    private mutating func send(_ ack: Ack, to device: Device, of key: SessionKey, _ now: Moment) {
        let payload = ack.payload(now: now.wallClock, epoch: writer.epochs[key.session.shard]?.number)
        send([Topic.session(key, Work.kind.ack(device)).message(payload)], of: key)
    }

    private mutating func reject(_ message: MQTTMessage, _ error: PayloadError, _ now: Moment) {
        reject(message, Rejection(topic: message.topic, error: error), now)
    }

    mutating func reject(_ message: MQTTMessage, _ rejection: Rejection, _ now: Moment) {
        metrics.rejected(rejection.reason)
        writer.reject(message, rejection, at: now)
    }

    /// Handles a request of a viewer. The chunks of a session are published for all readers.
    private mutating func receiveViewerRequest(
        _ message: MQTTMessage, of user: User, from viewer: User, _ now: Moment
    ) async throws {
        guard viewerRates.take(viewer, now) else {
            return context.limits.reached("viewer_requests", by: viewer, at: now)
        }
        // The engine handles requests for history and rejects invalid ones.
        guard case .chunks(let session)? = try? JSONCoding.decode(ViewerRequest.self, from: message.payload).action,
            writer.owns(session.shard)
        else { return }
        let key = SessionKey(user, session)
        try await load([.session(key, .request)], now)
        machine.requestChunks(key)
    }
}

/// Consecutive messages of one topic, as a device that catches up sends them.
struct TopicRun {
    let topic: Topic?
    let messages: ArraySlice<MQTTMessage>
}

/// The topics of names: the same names recur.
struct KnownTopics {
    private var topics: [String: Topic] = [:]

    /// `nil` for a name that is no topic.
    mutating func topic(_ name: String) -> Topic? {
        if let known = topics[name] { return known }
        guard let topic = Topic(name) else { return nil }
        if topics.count >= StreamTimes.topicLimit { topics = [:] }
        topics[name] = topic
        return topic
    }

    /// Messages of one topic share its string, so most comparisons are of pointers.
    mutating func runs(_ messages: [MQTTMessage]) -> [TopicRun] {
        var runs: [TopicRun] = []
        var start = 0
        for end in 1..<messages.count + 1 where end == messages.count || messages[end].topic != messages[start].topic {
            runs.append(TopicRun(topic: topic(messages[start].topic), messages: messages[start..<end]))
            start = end
        }
        return runs
    }
}
