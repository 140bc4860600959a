/// Reads on a thread and a connection of their own.
final class PostgresReader {
    private static let timeout = Duration.seconds(60)

    private let replica: PostgresReplica
    private let jobs: PostgresJobs<@Sendable (PostgresReader) -> Void>
    private var connection: PostgresConnection?

    init(_ replica: PostgresReplica, _ jobs: PostgresJobs<@Sendable (PostgresReader) -> Void>) {
        (self.replica, self.jobs) = (replica, jobs)
    }

    /// Works until the jobs are closed.
    func run() {
        while true {
            switch jobs.next(until: .now + Self.timeout) {
            case .job(let job): job(self)
            case .none: continue
            case .closed: return
            }
        }
    }

    func read<Value>(
        _ statement: PostgresStatement, _ body: (PostgresResult) -> Value
    ) -> Result<Value, StoreError> {
        // A connection may have been lost since the last read; a new one counts.
        let wasConnected = connection != nil
        do throws(PostgresFailure) {
            return .success(try readOnce(statement, body))
        } catch {
            guard case .broken = error, wasConnected else { return .failure(.notReadable(error.text)) }
        }
        do throws(PostgresFailure) {
            return .success(try readOnce(statement, body))
        } catch {
            return .failure(.notReadable(error.text))
        }
    }

    private func readOnce<Value>(
        _ statement: PostgresStatement, _ body: (PostgresResult) -> Value
    ) throws(PostgresFailure) -> Value {
        do throws(PostgresFailure) {
            if connection == nil { connection = try replica.connect() }
            guard let connection else { throw .broken("no connection") }
            return body(try connection.run(statement, until: .now + Self.timeout))
        } catch {
            if case .broken = error { connection = nil }
            throw error
        }
    }
}
