package import Bus
import Foundation
package import MQTT
import Synchronization
package import Workouts

/// The behaviour of all services towards a client: replies, acknowledgements, the finished workout.
package final class FakeServices: Sendable {
    /// The faults of the services and the way to them.
    package struct Faults: Sendable {
        /// Loses every n-th batch; 0 loses none.
        package var loseBatch = 0
        /// Loses the reply to every n-th command; 0 loses none.
        package var loseReply = 0
        /// Loses this many workouts.
        package var workoutsLost = 0
        /// Publishes this many workouts before the totals are there.
        package var workoutsIncomplete = 0
        /// Loses this many requests of the user.
        package var requestsLost = 0
        /// Refuses this many starts because of another session.
        package var startsPostponed = 0
        /// Seconds that the engine's clock is ahead.
        package var clockAhead = 0.0
        /// Accepts this many items of a stream.
        package var itemLimit = Int.max

        package init(
            loseBatch: Int = 0, loseReply: Int = 0, workoutsLost: Int = 0, workoutsIncomplete: Int = 0,
            requestsLost: Int = 0, startsPostponed: Int = 0, clockAhead: Double = 0, itemLimit: Int = .max
        ) {
            self.loseBatch = loseBatch
            self.loseReply = loseReply
            self.workoutsLost = workoutsLost
            self.workoutsIncomplete = workoutsIncomplete
            self.requestsLost = requestsLost
            self.startsPostponed = startsPostponed
            self.clockAhead = clockAhead
            self.itemLimit = itemLimit
        }
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

    package let key: SessionKey
    private let device: Workouts.Device
    private let clock: ManualClock
    private let state: Mutex<State>

    package init(key: SessionKey, device: Workouts.Device, clock: ManualClock, faults: Faults = Faults()) {
        self.key = key
        self.device = device
        self.clock = clock
        state = Mutex(State(faults: faults))
    }

    /// The stored items.
    package var samples: [Sample] { state.withLock(\.samples) }
    package var locations: [Location] { state.withLock(\.locations) }
    /// All commands received, repetitions included.
    package var commands: [Command] { state.withLock(\.commands) }
    package var session: Session? { state.withLock(\.session) }
    /// The number of requests of the user, lost ones included.
    package var requestCount: Int { state.withLock(\.requestCount) }

    /// Expires the session, removes its items and returns its last `state`.
    package func purge() -> MQTTMessage {
        state.withLock { state in
            state.session?.expire()
            return delete(&state, givenUp: .expired)
        }
    }

    /// Deletes the session, or purges it for `reason`, and returns its last `state`.
    package func delete(givenUp reason: Session.CancelReason? = nil) -> MQTTMessage {
        state.withLock { delete(&$0, givenUp: reason) }
    }

    private func delete(_ state: inout State, givenUp reason: Session.CancelReason?) -> MQTTMessage {
        state.session?.delete(givenUp: reason)
        state.samples = []
        state.locations = []
        state.replies = [:]
        state.revision += 1
        guard let session = state.session else { preconditionFailure("there is no session to delete") }
        return published(session, state.revision, now(state))
    }

    /// Another device has begun this session.
    package func take(_ session: Session) {
        state.withLock { $0.session = session }
    }

    /// Loses the next requests of the user.
    package func loseRequests(_ count: Int) {
        state.withLock { $0.faults.requestsLost = count }
    }

    /// Accepts this many items of a stream from now on.
    package func acceptItems(_ limit: Int) {
        state.withLock { $0.faults.itemLimit = limit }
    }

    /// Loses the session.
    package func forget() {
        state.withLock { $0 = State(faults: $0.faults) }
    }

    private func now(_ state: State) -> Timestamp { clock.now + state.faults.clockAhead }

    private func published(_ session: Session, _ revision: Int64, _ now: Timestamp) -> MQTTMessage {
        let payload = PublishedState(session.state(revision: revision), session.planState(now))
        return Topic.session(key, .state).message(JSONCoding.encode(payload))
    }

    /// The answers to a message of this session.
    package func answer(_ message: MQTTMessage) -> [MQTTMessage] {
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
                preconditionFailure("the client sent an invalid message: \(error)")
            }
        }
    }

    private func take<Item: StreamItem>(
        _ message: MQTTMessage, _ kind: StreamName.Kind, _ items: WritableKeyPath<State, [Item]>, _ state: inout State
    ) throws -> [MQTTMessage] where Item.Field: PayloadField {
        state.batches += 1
        if state.faults.loseBatch > 0, state.batches % state.faults.loseBatch == 0 { return [] }
        let batch = try ItemBatch<Item>(message.payload, accepting: AcceptedTimes(now: clock.now))
        // The services keep items of an unknown session unacknowledged, and acknowledge and drop those of a deleted one.
        guard let session = state.session else { return [] }
        guard session.statusName != .deleted else {
            return [
                Topic.session(key, kind.ack(device)).message(
                    Ack.next(batch.first + batch.items.count).payload(now: now(state)))
            ]
        }
        let count = state[keyPath: items].count
        guard batch.first + batch.items.count <= state.faults.itemLimit else {
            return [
                Topic.session(key, kind.ack(device)).message(
                    Ack.tooManyItems(next: count, retryAfter: 360).payload(now: now(state)))
            ]
        }
        if batch.first <= count { state[keyPath: items] += batch.items.dropFirst(count - batch.first) }
        let ack = Topic.session(key, kind.ack(device)).message(
            Ack.next(state[keyPath: items].count).payload(now: now(state)))
        return [ack] + workout(&state)
    }

    /// Only requests for saved plans have an effect.
    private func keep(_ request: UserRequest, _ state: inout State) -> [MQTTMessage] {
        var refusal: Refusal?
        switch request.action {
        case .savePlan(let plan, let definition, let base):
            let saved = state.plans.first { $0.plan == plan }
            guard base == nil || base?.savedAt == saved?.savedAt else {
                let reply = Reply(id: request.id, revision: nil, now: now(state), error: .planChanged)
                return answer(request.client, reply)
            }
            state.plans.removeAll { $0.plan == plan }
            state.plans.append(SavedPlans.Plan(plan: plan, savedAt: clock.now, definition: definition))
        case .deletePlan(let plan, _):
            if !state.plans.contains(where: { $0.plan == plan }) { refusal = .invalidCommand("no such plan") }
            state.plans.removeAll { $0.plan == plan }
        case .workouts:
            let reply = Reply(id: request.id, revision: nil, now: now(state))
            return answer(request.client, reply)
        default: return []
        }
        state.revision += 1
        let reply = Reply(id: request.id, revision: nil, now: now(state), error: refusal)
        return [
            Topic.user(key.user, .plans).message(
                JSONCoding.encode(SavedPlans(revision: state.revision, plans: state.plans)))
        ] + answer(request.client, reply)
    }

    private func answer(_ client: Client?, _ reply: Reply) -> [MQTTMessage] {
        reply.messages(to: key.user, client)
    }

    private func execute(_ command: Command, _ state: inout State) -> [MQTTMessage] {
        state.commands.append(command)
        let now = now(state)
        if let reply = state.replies[command.id] {
            return answer(command.client, reply) + workout(&state)
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
            return answer(command.client, reply)
        }
        state.revision += 1
        var reply = Reply(id: command.id, revision: state.revision, now: now)
        reply.at = command.at ?? now
        state.replies[command.id] = reply
        let update = state.session.map { published($0, state.revision, now) }
        let isLost = state.faults.loseReply > 0 && state.replies.count % state.faults.loseReply == 0
        return [update].compactMap(\.self) + (isLost ? [] : answer(command.client, reply))
            + workout(&state)
    }

    /// The finished workout, once all announced items are stored.
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
        let isComplete = state.faults.workoutsIncomplete == 0
        if !isComplete { state.faults.workoutsIncomplete -= 1 }
        let record = WorkoutRecord(
            session, metrics: isComplete ? report : nil, isComplete: isComplete, revision: state.revision)
        return [Topic.session(key, .workout).message(JSONCoding.encode(record))]
    }
}
