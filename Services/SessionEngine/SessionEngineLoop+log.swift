import Bus
import Logging
import ServiceKit
import Timing
import Workouts

/// The story of each workout for operators: a line for each change of a session, and for refused commands within a rate.
extension SessionEngineLoop {
    /// Remembers a command for the line about its reply, which can come after a coach's answer or a commit.
    mutating func note(_ command: Command, of key: SessionKey) {
        if noted.count >= 10_000 { noted = [:] }
        noted[command.id] = (key, command.action.name)
    }

    /// Logs committed changes of a session, and refused commands.
    mutating func log(_ action: SessionEngineAction, _ now: Moment) {
        switch action {
        case .reply(_, let client, let reply):
            guard let (key, name) = noted.removeValue(forKey: reply.id), let error = reply.error,
                refusals.take(key.user, now)
            else { break }
            var metadata: Logger.Metadata = [
                LogKey.command: "\(reply.id)", LogKey.action: "\(name)", LogKey.reason: "\(error.code)",
            ]
            metadata[LogKey.client] = client.map { "\($0)" }
            context.logger.info("command refused", metadata: LogKey.session(key, metadata))
        case .saveReply(let key, let reply):
            var metadata = LogKey.session(key, [LogKey.command: "\(reply.id)"])
            metadata[LogKey.action] = noted.removeValue(forKey: reply.id).map { "\($0.name)" }
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
