import Bus
import MQTT
import Workouts

/// What the services say to a playback.
extension Playback {
    enum Failure: Error, Equatable {
        case stream(ItemStream.Failure)
        case refused(SessionAction, Refusal)
    }

    /// What to do about a message.
    enum Reaction: Equatable {
        case nothing
        /// To be noted in the queue.
        case note([QueueEntry])
        /// To be said to whoever watches.
        case remark(String)
        case fail(Failure)
    }

    mutating func receive(_ message: MQTTMessage, _ now: Timestamp) -> Reaction {
        guard !message.payload.isEmpty else { return .nothing }
        do throws(PayloadError) {
            switch Topic(message.topic) {
            case .session(_, .samplesAck): return receive(try Ack(message.payload), now)
            case .user(_, .replies): return receive(try JSONCoding.decode(Reply.self, from: message.payload), now)
            case .session(_, .state):
                let received = try SessionState(message.payload)
                if received.revision >= state?.revision ?? 0 { state = received }
                if header.joins { isStarted = true }
            case .session(_, .workout):
                let received = try JSONCoding.decode(WorkoutRecord.self, from: message.payload)
                if received.revision >= workout?.revision ?? 0 { workout = received }
            default: break
            }
            return .nothing
        } catch {
            return .remark("a message on \(message.topic) cannot be read: \(error)")
        }
    }

    private mutating func receive(_ ack: Ack, _ now: Timestamp) -> Reaction {
        switch stream.receive(ack, now) {
        case .nothing: .nothing
        case .moved(let number): .note([.acknowledged(number)])
        case .failed(let failure): .fail(.stream(failure))
        }
    }

    private mutating func receive(_ reply: Reply, _ now: Timestamp) -> Reaction {
        switch commands.receive(reply, now) {
        case .nothing: return .nothing
        case .accepted(let command):
            switch command.action {
            case .start:
                isStarted = true
                if commands.clockOffset != 0 {
                    return .note([.replied(command.id), .clock(commands.clockOffset)])
                }
            case .end, .discard: isClosed = true
            default: break
            }
            return .note([.replied(command.id)])
        case .postponed(let refusal):
            return .remark("\(refusal.message); trying again every \(Int(CommandSender.interval)) s")
        case .refused(let command, let refusal):
            // Another client's `end` came first.
            if isOver, command.action.needsRunningSession { return .note([.replied(command.id)]) }
            return .fail(.refused(command.action, refusal))
        }
    }

    /// Another client has discarded the session. Its items are stored all the same.
    var isDiscardedElsewhere: Bool {
        isStarted && state?.status == .canceled && state?.endReason == Session.CancelReason.discarded.rawValue
    }

    /// Whether the session has been ended.
    var isOver: Bool { state?.status == .saving || state?.status == .completed }

    /// How the playback ended, once it has.
    var outcome: Outcome? {
        if state?.status == .deleted { return .deleted }
        switch closing?.action {
        case .discard? where isClosed: return .discarded
        case .end? where isClosed:
            if let workout, workout.next[header.stream, default: 0] >= stream.count { return .finished(workout) }
        default: break
        }
        return isDiscardedElsewhere && stream.isEmpty ? .discarded : nil
    }
}

extension SessionAction {
    fileprivate var needsRunningSession: Bool {
        switch self {
        case .deviceReady, .pause, .resume, .lap, .suspend: true
        case .start, .end, .discard, .recover: false
        }
    }
}

extension Playback.Failure: CustomStringConvertible {
    var description: String {
        switch self {
        case .stream(let failure): "\(failure)"
        case .refused(let action, let refusal): "\(action.name) was refused: \(refusal.message)"
        }
    }
}
