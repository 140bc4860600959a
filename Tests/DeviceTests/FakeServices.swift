import Bus
import Foundation
import MQTT
import Synchronization
import TestSupport
import Workouts

/// All services in one, as little of them as a device sees: replies, acknowledgements, the finished workout.
final class FakeServices: Sendable {
    /// What goes wrong.
    struct Faults: Sendable {
        /// Of this many batches one is lost; 0 loses none.
        var loseBatch = 0
        /// Of this many commands one stays without a reply, though it is carried out.
        var loseReply = 0
        /// How many workouts are never seen.
        var workoutsLost = 0
        /// How many requests of the user never come to the engine.
        var requestsLost = 0
        /// Refuses this many starts because of another session.
        var startsPostponed = 0
        /// Seconds that the engine's clock is ahead.
        var clockAhead = 0.0
    }

    private struct State {
        var faults: Faults
        var samples: [Sample] = []
        var locations: [Location] = []
        var session: Session?
        var commands: [Command] = []
        var replies: [CommandID: Reply] = [:]
        var plans: [SavedPlans.Plan] = []
        var batches = 0
        var revision: Int64 = 0
        var requestCount = 0
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
    var samples: [Sample] { state.withLock(\.samples) }
    var locations: [Location] { state.withLock(\.locations) }
    /// Each command that came, repetitions included.
    var commands: [Command] { state.withLock(\.commands) }
    var session: Session? { state.withLock(\.session) }
    /// Requests of the user, those that are lost included.
    var requestCount: Int { state.withLock(\.requestCount) }

    /// Gives the session up, as long after it was last heard of as it takes, and keeps nothing of it; what is published.
    func purge() -> MQTTMessage {
        state.withLock { state in
            state.session?.expire()
            return delete(&state, givenUp: .expired)
        }
    }

    /// The user deletes the workout, or it goes because of what it had been given up for; what is published.
    func delete(givenUp reason: Session.CancelReason? = nil) -> MQTTMessage {
        state.withLock { delete(&$0, givenUp: reason) }
    }

    private func delete(_ state: inout State, givenUp reason: Session.CancelReason?) -> MQTTMessage {
        state.session?.delete(givenUp: reason)
        state.samples = []
        state.locations = []
        state.replies = [:]
        state.revision += 1
        guard let session = state.session else { preconditionFailure("there is no session to delete") }
        return told(session, state.revision, now(state))
    }

    /// Another device has begun this session.
    func take(_ session: Session) {
        state.withLock { $0.session = session }
    }

    /// The engine does not get the next requests of the user.
    func loseRequests(_ count: Int) {
        state.withLock { $0.faults.requestsLost = count }
    }

    /// Knows nothing of the session any more.
    func forget() {
        state.withLock { $0 = State(faults: $0.faults) }
    }

    private func now(_ state: State) -> Timestamp { clock.now + state.faults.clockAhead }

    private func told(_ session: Session, _ revision: Int64, _ now: Timestamp) -> MQTTMessage {
        let published = PublishedState(session.state(revision: revision), session.planState(now))
        return Topic.session(key, .state).message(JSONCoding.encode(published))
    }

    /// What they say to a message of this session.
    func answer(_ message: MQTTMessage) -> [MQTTMessage] {
        guard let topic = Topic(message.topic) else { return [] }
        return state.withLock { state in
            do {
                if case .user(key.user, .request) = topic {
                    state.requestCount += 1
                    guard state.faults.requestsLost == 0 else {
                        state.faults.requestsLost -= 1
                        return []
                    }
                    return keep(try JSONCoding.decode(UserRequest.self, from: message.payload), &state)
                }
                guard case .session(key, let topic) = topic else { return [] }
                switch topic {
                case .command: return execute(try JSONCoding.decode(Command.self, from: message.payload), &state)
                case .samples: return try take(message, .samples, \.samples, &state)
                case .locations: return try take(message, .locations, \.locations, &state)
                default: return []
                }
            } catch {
                preconditionFailure("the device sent what cannot be read: \(error)")
            }
        }
    }

    private func take<Item: StreamItem>(
        _ message: MQTTMessage, _ kind: StreamName.Kind, _ items: WritableKeyPath<State, [Item]>, _ state: inout State
    ) throws -> [MQTTMessage] where Item.Field: PayloadField {
        state.batches += 1
        if state.faults.loseBatch > 0, state.batches % state.faults.loseBatch == 0 { return [] }
        let batch = try ItemBatch<Item>(message.payload, accepting: AcceptedTimes(now: clock.now))
        // Items of a session that is not known wait for it, and those of a deleted one are acknowledged and dropped.
        guard let session = state.session else { return [] }
        guard session.statusName != .deleted else {
            return [Topic.session(key, kind.ack(device)).message(Ack.next(batch.first + batch.items.count).payload)]
        }
        let count = state[keyPath: items].count
        if batch.first <= count { state[keyPath: items] += batch.items.dropFirst(count - batch.first) }
        let ack = Topic.session(key, kind.ack(device)).message(Ack.next(state[keyPath: items].count).payload)
        return [ack] + workout(&state)
    }

    /// The user's saved plans are all that is kept of requests.
    private func keep(_ request: UserRequest, _ state: inout State) -> [MQTTMessage] {
        var refusal: Refusal?
        switch request.action {
        case .savePlan(let plan, let definition):
            state.plans.removeAll { $0.plan == plan }
            state.plans.append(SavedPlans.Plan(plan: plan, savedAt: clock.now, definition: definition))
        case .deletePlan(let plan):
            if !state.plans.contains(where: { $0.plan == plan }) { refusal = .invalidCommand("no such plan") }
            state.plans.removeAll { $0.plan == plan }
        case .workouts:
            let reply = Reply(id: request.id, revision: nil, now: now(state))
            return [Topic.user(key.user, .replies(request.client)).message(JSONCoding.encode(reply))]
        default: return []
        }
        state.revision += 1
        let reply = Reply(id: request.id, revision: nil, now: now(state), error: refusal)
        return [
            Topic.user(key.user, .plans).message(
                JSONCoding.encode(SavedPlans(revision: state.revision, plans: state.plans))),
            Topic.user(key.user, .replies(request.client)).message(JSONCoding.encode(reply)),
        ]
    }

    private func execute(_ command: Command, _ state: inout State) -> [MQTTMessage] {
        state.commands.append(command)
        let topic = Topic.user(key.user, .replies(command.client))
        let now = now(state)
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
            let revision = state.session == nil ? nil : state.revision
            let reply = Reply(id: command.id, revision: revision, now: now, error: error)
            return [topic.message(JSONCoding.encode(reply))]
        }
        state.revision += 1
        var reply = Reply(id: command.id, revision: state.revision, now: now)
        reply.at = command.at ?? now
        state.replies[command.id] = reply
        let published = state.session.map { told($0, state.revision, now) }
        let isLost = state.faults.loseReply > 0 && state.replies.count % state.faults.loseReply == 0
        return [published].compactMap(\.self) + (isLost ? [] : [topic.message(JSONCoding.encode(reply))])
            + workout(&state)
    }

    /// The finished workout, once everything announced is there.
    private func workout(_ state: inout State) -> [MQTTMessage] {
        let next = [
            StreamName(.samples, device): state.samples.count, StreamName(.locations, device): state.locations.count,
        ]
        guard let session = state.session, session.holdsAnnounced(next), !session.streams.isEmpty else { return [] }
        guard state.faults.workoutsLost == 0 else {
            state.faults.workoutsLost -= 1
            return []
        }
        let totals = CountedItems(streams: [device: state.samples], segments: session.segments)
            .summary(laps: [], units: .metric)
        let report = MetricsReport(
            revision: 1, state: state.revision, next: next, chunks: 0, totals: totals)
        state.revision += 1
        let record = WorkoutRecord(session, metrics: report, isComplete: true, revision: state.revision)
        return [Topic.session(key, .workout).message(JSONCoding.encode(record))]
    }
}
