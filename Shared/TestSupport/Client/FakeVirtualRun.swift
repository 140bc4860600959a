package import Bus
import Foundation
package import MQTT
import Synchronization
package import Workouts

/// The behaviour of virtual-run towards the clients of one run: views, replies, and what a test scripts.
package final class FakeVirtualRun: Sendable {
    private struct State {
        var view: VirtualRunView
        var requests: [VirtualRunRequest] = []
        var replies: [CommandID: Reply] = [:]
        var refusals: [String: Refusal] = [:]
        var repliesLost = 0
        var people = RunPeople(revision: 1)
    }

    private let clock: ManualClock
    private let sessions: [User: SessionID]
    private let state: Mutex<State>

    /// A run that the first user created, with the others invited. A `create` replaces it.
    ///
    /// - Parameter sessions: the sessions that it draws.
    package init(
        _ users: [User], settings: RunSettings = RunSettings(), sessions: [User: SessionID] = [:], clock: ManualClock
    ) {
        self.clock = clock
        self.sessions = sessions
        state = Mutex(State(view: Self.view(RunID(UUID()), users, settings, clock.now)))
    }

    private static func view(
        _ run: RunID, _ users: [User], _ settings: RunSettings, _ now: Timestamp
    ) -> VirtualRunView {
        let participants = users.map { user in
            VirtualRunView.Participant(
                user: user, status: user == users[0] ? .accepted : .invited, at: now, sharing: .all)
        }
        return VirtualRunView(
            run: run, user: users[0], revision: 1, status: .inviting, host: users[0], settings: settings,
            createdAt: now,
            participants: participants)
    }

    package var run: RunID { view.run }

    /// All requests received, repetitions included.
    package var requests: [VirtualRunRequest] { state.withLock(\.requests) }
    package var view: VirtualRunView { state.withLock(\.view) }

    /// Loses the next replies.
    package func loseReplies(_ count: Int) { state.withLock { $0.repliesLost = count } }

    /// Refuses requests of a type.
    package func refuse(_ type: String, _ refusal: Refusal?) { state.withLock { $0.refusals[type] = refusal } }

    /// Changes the run and returns the new views.
    package func change(_ body: (inout VirtualRunView) -> Void) -> [MQTTMessage] {
        state.withLock { state in
            body(&state.view)
            return publish(&state)
        }
    }

    /// The answers to a message.
    package func answer(_ message: MQTTMessage) -> [MQTTMessage] {
        guard case .user(let user, .virtualRunRequest) = Topic(message.topic) else { return [] }
        return state.withLock { state in
            guard let request = try? JSONCoding.decode(VirtualRunRequest.self, from: message.payload) else {
                preconditionFailure("the client sent an invalid request")
            }
            state.requests.append(request)
            var views: [MQTTMessage] = []
            var reply = state.replies[request.id]
            if reply == nil {
                var made = Reply(
                    id: request.id, revision: nil, now: clock.now, error: state.refusals[request.action.name])
                if made.ok {
                    if case .create(let proposal) = request.action, let run = request.run {
                        state.view = Self.view(run, [user] + proposal.invite, proposal.settings, clock.now)
                    }
                    views = perform(request.action, user, &state)
                    made.revision = state.view.revision
                    made.runs = request.action.name == "runs" ? [] : nil
                    state.replies[request.id] = made
                }
                reply = made
            }
            guard state.repliesLost == 0, let client = request.client, let reply else {
                state.repliesLost = max(0, state.repliesLost - 1)
                return views
            }
            return views + reply.messages(to: user, client)
        }
    }

    private func perform(_ action: VirtualRunRequest.Action, _ user: User, _ state: inout State) -> [MQTTMessage] {
        func set(_ status: ParticipantStatus) {
            guard let index = state.view.participants.firstIndex(where: { $0.user == user }) else { return }
            state.view.participants[index].status = status
            guard status == .confirmed, state.view.participants[index].session == nil else { return }
            state.view.participants[index].session = sessions[user] ?? SessionID(UUID())
            state.view.participants[index].startId = CommandID(UUID())
        }
        switch action {
        case .accept:
            set(.accepted)
            if state.view.participants.count == 2 { state.view.status = .confirming }
        case .decline: set(.declined)
        case .begin: state.view.status = .confirming
        case .cancel: state.view.status = .canceled
        case .leave: set(.left)
        case .confirm:
            set(.confirmed)
            if state.view.participants.allSatisfy({ $0.status != .accepted && $0.status != .invited }) { start(&state) }
        case .addContact(let contact): state.people.contacts.append(contact)
        case .block(let person): state.people.blocked.append(person)
        case .setInvites(let from): state.people.invitesFrom = from
        case .create, .invite, .remove, .share, .keepWaiting, .show, .routes, .runs, .removeContact, .unblock: break
        }
        return publish(&state)
            + [Topic.user(user, .virtualRunPeople).message(JSONCoding.encode(state.people))]
    }

    private func start(_ state: inout State) {
        let startsAt = clock.now + 1 + state.view.settings.countdown
        state.view.status = .starting
        state.view.startsAt = startsAt
        for index in state.view.participants.indices where state.view.participants[index].status == .confirmed {
            state.view.participants[index].startsAt = startsAt
        }
    }

    private func publish(_ state: inout State) -> [MQTTMessage] {
        state.view.revision += 1
        return state.view.participants.map { participant in
            var view = state.view
            view.user = participant.user
            for index in view.participants.indices where view.participants[index].user != participant.user {
                view.participants[index].session = nil
                view.participants[index].startId = nil
            }
            return Topic.user(participant.user, .virtualRun(view.run)).message(JSONCoding.encode(view))
        }
    }
}
