import Bus
package import MQTT
package import ServiceKit
package import Workouts

/// How a playback handles messages of the services.
extension Playback {
    package enum Failure: Error, Equatable {
        case stream(StreamFailure)
        case refused(SessionAction, Refusal)

        /// Whether the same queue can continue.
        var canContinue: Bool {
            switch self {
            case .stream(let failure): failure.canContinue
            case .refused: true
            }
        }
    }

    /// The reaction to a message.
    package enum Reaction: Equatable {
        case nothing
        /// Append the entries to the queue.
        case note([QueueEntry])
        /// Read the stream's items from this number on from the queue and pass them to `takeBack`.
        case takeBack(StreamName.Kind, from: Int)
        /// Print the text.
        case remark(String)
        /// Append the entries to the queue and end the playback.
        case fail(Failure, noting: [QueueEntry] = [])
    }

    package mutating func receiveMessage(_ message: MQTTMessage, _ now: Moment) -> Reaction {
        guard !message.payload.isEmpty else {
            companion?.clear(message)
            return .nothing
        }
        do throws(PayloadError) {
            switch Topic(message.topic) {
            case .session(_, .samplesAck): return receiveAck(try Ack.read(message.payload), .samples, now)
            case .session(_, .locationsAck): return receiveAck(try Ack.read(message.payload), .locations, now)
            case .user(_, .replies): return receiveReply(try JSONCoding.decode(Reply.self, from: message.payload), now)
            case .session(_, .state):
                let received = try SessionState(message.payload)
                if received.revision >= state?.revision ?? 0 {
                    state = received
                    goal?.receive(received.segments)
                }
                if header.joins { isStarted = true }
            case .session(_, .announcements):
                // A newer service may have other kinds.
                guard let announcement = try? JSONCoding.decode(Announcement.self, from: message.payload),
                    let text = Text.announcement(announcement, state?.activity)
                else { return .nothing }
                return .remark("> \(text)")
            case .session(_, .workout):
                let received = try JSONCoding.decode(WorkoutRecord.self, from: message.payload)
                if received.revision >= workout?.revision ?? 0 { workout = received }
                verify(received)
            case .user: if let text = try companion?.receive(message) { return .remark("> \(text)") }
            default: break
            }
            return .nothing
        } catch {
            return .remark("invalid message on \(message.topic): \(error)")
        }
    }

    private mutating func receiveReply(_ reply: Reply, _ now: Moment) -> Reaction {
        clock.receive(reply.now, now)
        switch commands.receiveReply(reply, now) {
        case .nothing: return .nothing
        case .accepted(let command):
            let isFirst = replied.insert(command.id).inserted
            notFoundCount = 0
            switch command.action {
            case .start:
                isStarted = true
                if isFirst, commands.clockOffset != 0 {
                    clock.set(commands.clockOffset)
                    return .note([.replied(command.id)] + (clock.takeChange().map { [.clock($0)] } ?? []))
                }
            case .end, .discard: isClosed = true
            default: break
            }
            return isFirst ? .note([.replied(command.id)]) : .nothing
        case .postponed(let refusal) where refusal.isNotFound:
            // The engine still knows the revision of a deleted session, and `state` carries the reason.
            if reply.revision == nil { notFoundCount += 1 }
            return isLost ? .nothing : .remark("session not found, retrying")
        case .postponed(let refusal) where !isStarted && companion?.needsNoStart == true:
            missed = refusal
            return .nothing
        case .postponed(let refusal):
            // A refusal with a time says when.
            let wait = refusal.retryAfter == nil ? "every \(Int(RepeatedRequest.interval)) s" : "then"
            return .remark("\(refusal.message); retrying \(wait)")
        case .refused(let command, let refusal):
            // Another client's `end` came first, or the engine accepted an earlier try.
            if isMoot(command) || replied.contains(command.id) {
                return replied.insert(command.id).inserted ? .note([.replied(command.id)]) : .nothing
            }
            return .fail(.refused(command.action, refusal))
        }
    }

    /// Whether another client has discarded the session. The services still store its items.
    var isDiscardedElsewhere: Bool {
        isStarted && state?.status == .canceled && state?.endReason == Session.CancelReason.discarded.rawValue
    }

    /// Whether the server has lost the session: it expired while the device was offline, or the engine did not find it
    /// twice.
    private var isLost: Bool {
        state?.status == .deleted
            ? state?.endReason == Session.CancelReason.expired.rawValue : notFoundCount >= Self.notFoundLimit
    }

    /// Whether the refusal of a command can be ignored: the session has ended, and the command is about one in progress.
    private func isMoot(_ command: Command) -> Bool {
        isEnded && ![.start, .end, .discard, .recover].contains(command.action.kind)
    }

    var isEnded: Bool { state?.status.isEnded ?? false }

    /// The outcome of the playback, once it has ended.
    package var outcome: Outcome? {
        if state?.status == .deleted, !isLost { return .deleted }
        if let missed { return .missed(missed) }
        switch closing?.action {
        case .discard? where isClosed || isLost: return .discarded
        case _ where isLost: return .notSynced
        case .end? where isClosed:
            if let workout, counts.allSatisfy({ workout.next[$0, default: 0] >= $1 }) { return .finished(workout) }
        default: break
        }
        return isDiscardedElsewhere && isAcknowledged ? .discarded : nil
    }
}

extension Playback.Failure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .stream(let failure): "\(failure)"
        case .refused(let action, let refusal): "\(action.name) refused: \(refusal.message)"
        }
    }
}
