import Bus
import Logging
import ServiceKit
import Timing
import Workouts

/// The story of each workout for operators: a line for each change of a session, and for refused commands within a rate.
extension SessionEngineLoop {
    /// Logs a refused command, and remembers the type of an accepted one for its line.
    mutating func note(
        _ command: Command, of key: SessionKey, _ actions: [SessionEngineAction], _ now: Moment
    ) {
        for case .saveReply(_, let reply) in actions where reply.id == command.id {
            if accepted.count >= 10_000 { accepted = [:] }
            accepted[command.id] = command.action.name
        }
        for case .reply(_, let client, let reply) in actions where reply.id == command.id {
            guard let error = reply.error, refusals.take(key.user, now) else { continue }
            var metadata: Logger.Metadata = [
                LogKey.command: "\(command.id)", LogKey.action: "\(command.action.name)",
                LogKey.reason: "\(error.code)",
            ]
            metadata[LogKey.client] = client.map { "\($0)" }
            context.logger.info("command refused", metadata: LogKey.session(key, metadata))
        }
    }

    /// Logs committed changes of a session.
    mutating func log(_ action: SessionEngineAction) {
        switch action {
        case .saveReply(let key, let reply):
            var metadata = LogKey.session(key, [LogKey.command: "\(reply.id)"])
            metadata[LogKey.action] = accepted.removeValue(forKey: reply.id).map { "\($0)" }
            metadata[LogKey.revision] = reply.revision.map { "\($0)" }
            context.logger.info("command accepted", metadata: metadata)
        case .save(let key):
            guard let record = machine.entries[key]?.record else { break }
            newestRevision = max(newestRevision, record.revision)
            guard let status = machine.table.takeNewStatus(of: key) else { break }
            let metadata: Logger.Metadata = [LogKey.status: "\(status)", LogKey.revision: "\(record.revision)"]
            context.logger.info("session changed", metadata: LogKey.session(key, metadata))
        case .list(let key):
            guard let workout = machine.entries[key]?.record.workout else { break }
            let metadata: Logger.Metadata = [LogKey.revision: "\(workout.revision)"]
            let text: Logger.Message = workout.incomplete == true ? "incomplete workout recorded" : "workout recorded"
            context.logger.info(text, metadata: LogKey.session(key, metadata))
        default: break
        }
    }
}
