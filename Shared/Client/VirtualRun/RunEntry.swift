package import Bus
package import MQTT
package import ServiceKit
package import Workouts

/// A device's way into a virtual run: it accepts if it should, confirms, and waits until the view names its start.
///
/// A value: it reads no clock and performs nothing.
package struct RunEntry {
    /// The first request.
    package enum Way: Equatable, Sendable {
        /// Requests the view, which shows whether the run exists.
        case show
        /// Creates the run.
        case create(RunProposal)
        /// Waits for the invitation.
        case wait
    }

    package enum Outcome: Equatable {
        case begins(RunTicket)
        case failed(RunEntryFailure)
    }

    private let user: User
    private let run: RunID
    /// Whether the device accepts an invitation.
    private let accepts: Bool
    private let newID: () -> CommandID
    private var requests: RunRequestSender
    private var view: VirtualRunView?
    /// The user's unfinished session: it would prevent the run's.
    private var current: CurrentSession?
    /// The revision of an accepted request that the view has not reached, and when its reply arrived.
    private var expected: (revision: Int64, since: Moment)?
    package private(set) var outcome: Outcome?

    package init(
        user: User, run: RunID, accepts: Bool, way: Way = .show, client: Client, newID: @escaping () -> CommandID
    ) {
        self.user = user
        self.run = run
        self.accepts = accepts
        self.newID = newID
        requests = RunRequestSender(user: user, client: client)
        switch way {
        case .show: requests.send(.show, run: run, id: newID())
        case .create(let proposal): requests.send(.create(proposal), run: run, id: newID())
        case .wait: break
        }
    }

    package var subscriptions: [MQTTSubscription] {
        [requests.topic, .user(user, .virtualRun(run)), .user(user, .current)].map(TopicFilter.topic)
    }

    package mutating func connected() { requests.connected() }

    package mutating func disconnected() { requests.disconnected() }

    /// Returns a remark to print.
    package mutating func receive(_ message: MQTTMessage, _ now: Moment) -> String? {
        guard !message.payload.isEmpty else { return nil }
        do throws(PayloadError) {
            switch Topic(message.topic) {
            case .user(user, .virtualRun(run)):
                let received = try JSONCoding.decode(VirtualRunView.self, from: message.payload)
                if received.revision >= view?.revision ?? 0 { view = received }
            case .user(user, .current):
                let received = try JSONCoding.decode(CurrentSession.self, from: message.payload)
                if received.revision >= current?.revision ?? 0 { current = received }
            case .user(user, .replies):
                switch requests.receiveReply(try JSONCoding.decode(Reply.self, from: message.payload), now) {
                case .nothing: break
                case .accepted(let reply): expected = reply.revision.map { ($0, now) }
                case .postponed(let refusal): return "\(refusal.message); retrying then"
                case .refused(let refusal): outcome = .failed(.refused(refusal))
                }
            default: break
            }
            return nil
        } catch {
            return "invalid message on \(message.topic): \(error)"
        }
    }

    /// The messages to send now. Sets ``outcome`` once the view decides it.
    package mutating func takeOutgoing(_ now: Moment) -> [MQTTMessage] {
        if outcome == nil, requests.pending == nil, let view { advance(view, now) }
        return requests.takeDue(now).map { [$0] } ?? []
    }

    private mutating func advance(_ view: VirtualRunView, _ now: Moment) {
        if let expected {
            if view.revision < expected.revision {
                guard now.seconds(since: expected.since) >= RepeatedRequest.interval else { return }
                // The view was lost with a connection.
                requests.send(.show, run: run, id: newID())
            }
            self.expected = nil
        }
        guard let own = view.own else { return }
        if view.status.isOver {
            outcome = .failed(.over(view.status, reason: view.reason))
        } else {
            switch own.status {
            case .invited: if accepts { send(.accept(Sharing.Change())) }
            case .accepted: if view.canConfirm { send(.confirm) } else if view.canBegin { send(.begin) }
            case .confirmed, .running, .absent:
                if let ticket = RunTicket(view, now: now.wallClock, offset: requests.clock.offset ?? 0) {
                    outcome = .begins(ticket)
                }
            case .declined, .left, .finished: outcome = .failed(.out(own.status, reason: own.reason))
            }
        }
    }

    private mutating func send(_ action: VirtualRunRequest.Action) {
        if let text = current?.unfinished {
            outcome = .failed(.busy(text))
        } else {
            requests.send(action, run: run, id: newID())
        }
    }

    /// The component or people that the device waits for.
    package func awaited(_ now: Timestamp) -> String {
        if let view, let own = view.own, requests.pending == nil {
            switch (own.status, view.status) {
            case (.invited, _): return "the invitation to be accepted, here with --accept"
            case (.accepted, _) where view.host == user: return "the others to accept"
            case (.accepted, _): return "\(view.host) to begin"
            default: return unconfirmed(view, now) ?? "the start"
            }
        }
        return "virtual-run"
    }

    /// `ben, cleo to confirm 0:47`; `nil` once all have.
    private func unconfirmed(_ view: VirtualRunView, _ now: Timestamp) -> String? {
        let users = view.participants.filter { $0.status == .accepted }.map(\.user.description)
        guard view.status == .confirming, !users.isEmpty else { return nil }
        let rest = view.confirmBy.map { " " + Text.duration($0.seconds(since: now + (requests.clock.offset ?? 0))) }
        return "\(users.joined(separator: ", ")) to confirm\(rest ?? "")"
    }
}

extension CurrentSession {
    /// What has to end before a virtual run; `nil` without an unfinished session.
    package var unfinished: String? {
        guard let session, let details else { return nil }
        return "session \(session), \(details.name), is \(details.status.rawValue); end or discard it first"
    }
}

extension VirtualRunView {
    /// Whether an accepted participant may confirm.
    package var canConfirm: Bool { status == .confirming || isOpen }

    /// Whether people may join a run that has begun.
    package var isOpen: Bool {
        [.starting, .running].contains(status) && (settings.start == .rolling || settings.lateJoin)
    }

    /// Whether the reader may begin, and no answer to an invitation is missing.
    fileprivate var canBegin: Bool {
        let others = participants.filter { $0.user != user }
        return status == .inviting && host == user && settings.scheduledAt == nil
            && !others.contains { $0.status == .invited }
            && (!ghosts.isEmpty || others.contains { $0.status == .accepted })
    }
}

/// Why a device has no part in a virtual run.
package enum RunEntryFailure: Error, Equatable, CustomStringConvertible {
    case refused(Refusal)
    case over(RunStatus, reason: String?)
    case out(ParticipantStatus, reason: String?)
    /// Another session of the user is unfinished.
    case busy(String)

    package var description: String {
        switch self {
        case .refused(let refusal): refusal.message
        case .over(let status, let reason): "the virtual run is \(status.rawValue)\(Self.text(reason))"
        case .out(let status, let reason):
            "the runner's status in the virtual run is \(status.rawValue)\(Self.text(reason))"
        case .busy(let text): text
        }
    }

    private static func text(_ reason: String?) -> String { reason.map { " (\($0))" } ?? "" }
}
