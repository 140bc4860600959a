import Bus
import Foundation
import MQTT
import Synchronization
import TestSupport
import Workouts

/// Engine and aggregator in one, as little of them as a device sees: replies, acknowledgements, the finished workout.
final class FakeServices: Sendable {
    /// What goes wrong.
    struct Faults: Sendable {
        /// Of this many batches one is lost; 0 loses none.
        var loseBatch = 0
        /// Of this many commands one stays without a reply, though it is carried out.
        var loseReply = 0
        /// How many workouts are never seen.
        var workoutsLost = 0
        /// Refuses this many starts because of another session.
        var startsPostponed = 0
    }

    private struct State {
        var faults: Faults
        var items: [Sample] = []
        var session: Session?
        var commands: [Command] = []
        var replies: [CommandID: Reply] = [:]
        var batches = 0
        var revision: Int64 = 0
    }

    let key: SessionKey
    private let device: Workouts.Device
    private let clock: ManualClock
    private let state: Mutex<State>

    init(key: SessionKey, device: Workouts.Device, clock: ManualClock, faults: Faults = Faults()) {
        self.key = key
        self.device = device
        self.clock = clock
        state = Mutex(State(faults: faults))
    }

    /// Everything that is on this side's disk.
    var items: [Sample] { state.withLock(\.items) }
    /// Each command that came, repetitions included.
    var commands: [Command] { state.withLock(\.commands) }
    var session: Session? { state.withLock(\.session) }

    /// Works until it is cancelled.
    func run(_ bus: InMemoryBus) async {
        let topics: [Topic] = [.session(key, .command), .session(key, .samples(device))]
        try? await bus.withSubscriptions(topics.map(TopicFilter.topic)) { events in
            for await case .batch(let batch) in events {
                let answers = batch.messages.flatMap(answer)
                batch.acknowledge()
                try? await bus.send(answers)
            }
        }
    }

    private func answer(_ message: MQTTMessage) -> [MQTTMessage] {
        state.withLock { state in
            do {
                switch Topic(message.topic) {
                case .session(_, .command):
                    return execute(try JSONCoding.decode(Command.self, from: message.payload), &state)
                case .session(_, .samples): return try take(message, &state)
                default: return []
                }
            } catch {
                preconditionFailure("the device sent what cannot be read: \(error)")
            }
        }
    }

    private func take(_ message: MQTTMessage, _ state: inout State) throws -> [MQTTMessage] {
        state.batches += 1
        if state.faults.loseBatch > 0, state.batches % state.faults.loseBatch == 0 { return [] }
        let batch = try SampleBatch(message.payload, accepting: AcceptedTimes(now: clock.now))
        if batch.first <= state.items.count { state.items += batch.items.dropFirst(state.items.count - batch.first) }
        let ack = Topic.session(key, .samplesAck(device)).message(Ack.next(state.items.count).payload)
        return [ack] + workout(&state)
    }

    private func execute(_ command: Command, _ state: inout State) -> [MQTTMessage] {
        state.commands.append(command)
        let topic = Topic.user(key.user, .replies(command.client))
        let now = clock.now
        if let reply = state.replies[command.id] {
            return [topic.message(JSONCoding.encode(reply))] + workout(&state)
        }
        do throws(Refusal) {
            if case .start(let start) = command.action {
                if state.faults.startsPostponed > 0 {
                    state.faults.startsPostponed -= 1
                    throw .sessionInProgress(SessionID(UUID()))
                }
                guard state.session == nil else { throw .invalidState("the session has begun already") }
                state.session = Session(key: key, start: start, at: command.at ?? now, now: now)
            } else {
                guard state.session != nil else { throw .sessionNotFound }
                _ = state.session?.advance(to: now)
                try state.session?.apply(command.action, at: command.at ?? now)
            }
        } catch {
            let reply = Reply(id: command.id, revision: state.revision, now: now, error: error)
            return [topic.message(JSONCoding.encode(reply))]
        }
        state.revision += 1
        let reply = Reply(id: command.id, revision: state.revision, now: now)
        state.replies[command.id] = reply
        let published = state.session.map {
            Topic.session(key, .state).message(JSONCoding.encode($0.state(revision: state.revision)))
        }
        let isLost = state.faults.loseReply > 0 && state.replies.count % state.faults.loseReply == 0
        return [published].compactMap(\.self) + (isLost ? [] : [topic.message(JSONCoding.encode(reply))])
            + workout(&state)
    }

    /// The finished workout, once everything announced is there.
    private func workout(_ state: inout State) -> [MQTTMessage] {
        let stream = StreamName(.samples, device)
        guard let session = state.session, let announced = session.streams[stream], state.items.count >= announced
        else {
            return []
        }
        guard state.faults.workoutsLost == 0 else {
            state.faults.workoutsLost -= 1
            return []
        }
        let totals = CountedItems(streams: [device: state.items], segments: session.segments)
            .summary(laps: [], units: .metric)
        let report = MetricsReport(
            revision: 1, state: state.revision, next: [stream: state.items.count], chunks: 0, totals: totals)
        state.revision += 1
        let record = WorkoutRecord(session, metrics: report, isComplete: true, revision: state.revision)
        return [Topic.session(key, .workout).message(JSONCoding.encode(record))]
    }
}
