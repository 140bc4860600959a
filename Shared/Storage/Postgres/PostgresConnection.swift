import CPostgres
import Foundation

/// Why statements did not run, or may not have.
enum PostgresFailure: Error {
    /// The server refused a statement and undid all of them.
    case refused(state: String, text: String)
    /// The connection is lost or silent: the statements ran, all of them or none.
    case broken(String)

    /// Without values of rows, which may be personal data.
    var text: String {
        switch self {
        case .refused(let state, let text): "\(text) (\(state))"
        case .broken(let text): text
        }
    }
}

/// A connection to PostgreSQL in pipeline mode, used by one thread at a time.
final class PostgresConnection {
    private enum Command {
        case prepare(sql: String)
        case execute
    }

    private let pointer: OpaquePointer
    /// The names of prepared statements by their text.
    private var prepared: [String: String] = [:]
    /// Whether the server sent a warning in the last ``run(_:until:)``, such as that no standby confirmed a commit.
    private(set) var hasWarned = false

    /// Connects to the first of the address's servers that accepts; about 2 s for each that does not answer.
    init(_ address: PostgresAddress, service: String) throws(PostgresFailure) {
        if let problem = LoadedLibpq.shared.problem { throw .broken(problem) }
        let options = address.options(service: service)
        var keywords: [UnsafeMutablePointer<CChar>?] = options.map { strdup($0.0) } + [nil]
        var values: [UnsafeMutablePointer<CChar>?] = options.map { strdup($0.1) } + [nil]
        defer { for pointer in keywords + values { free(pointer) } }
        let connected = keywords.withUnsafeMutableBufferPointer { keywords in
            values.withUnsafeMutableBufferPointer { values in
                keywords.withMemoryRebound(to: UnsafePointer<CChar>?.self) { keywords in
                    values.withMemoryRebound(to: UnsafePointer<CChar>?.self) { values in
                        pq.PQconnectdbParams(keywords.baseAddress, values.baseAddress, 0)
                    }
                }
            }
        }
        guard let connected else { throw .broken("out of memory") }
        pointer = connected
        guard pq.PQstatus(pointer) == CONNECTION_OK, pq.PQsetnonblocking(pointer, 1) == 0,
            pq.PQenterPipelineMode(pointer) == 1
        else { throw .broken(message) }
        _ = pq.PQsetNoticeReceiver(
            pointer,
            { target, _ in
                guard let target else { return }
                Unmanaged<PostgresConnection>.fromOpaque(target).takeUnretainedValue().hasWarned = true
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit {
        pq.PQfinish(pointer)
    }

    private var message: String {
        (pq.PQerrorMessage(pointer).map { String(cString: $0) } ?? "").trimmingCharacters(in: .whitespacesAndNewlines)
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    // MARK: Statements

    /// Runs statements in one round trip and returns a result for each. They are one transaction, unless they are part of one
    /// that `BEGIN` opened.
    func run(
        _ statements: [PostgresStatement], until deadline: ContinuousClock.Instant
    ) throws(PostgresFailure) -> [PostgresResult] {
        hasWarned = false
        var commands: [Command] = []
        for statement in statements { try send(statement, &commands) }
        guard pq.PQpipelineSync(pointer) == 1 else { throw .broken(message) }
        var results: [PostgresResult] = []
        var refusal: PostgresFailure?
        var index = 0
        while true {
            try wait(until: deadline)
            guard let result = pq.PQgetResult(pointer) else {
                // The end of a command's results.
                guard pq.PQstatus(pointer) == CONNECTION_OK else { throw .broken(message) }
                continue
            }
            // Each command has one result.
            defer { index += 1 }
            switch pq.PQresultStatus(result) {
            case PGRES_PIPELINE_SYNC:
                pq.PQclear(result)
                if let refusal { throw refusal }
                return results
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK:
                if index < commands.count, case .prepare(let sql) = commands[index] {
                    prepared[sql] = Self.name(prepared.count)
                    pq.PQclear(result)
                } else {
                    results.append(PostgresResult(result))
                }
            case PGRES_PIPELINE_ABORTED: pq.PQclear(result)
            default:
                let error = Self.failure(result)
                pq.PQclear(result)
                guard pq.PQstatus(pointer) == CONNECTION_OK else { throw .broken(message) }
                refusal = refusal ?? error
            }
        }
    }

    func run(
        _ statement: PostgresStatement, until deadline: ContinuousClock.Instant
    ) throws(PostgresFailure) -> PostgresResult {
        try run([statement], until: deadline)[0]
    }

    /// A name that no other statement of the connection has.
    private static func name(_ count: Int) -> String { "s\(count)" }

    private func send(_ statement: PostgresStatement, _ commands: inout [Command]) throws(PostgresFailure) {
        var name: String?
        if statement.isPrepared {
            name = prepared[statement.sql]
            if name == nil {
                // Of two that are new in one pipeline the second is not prepared.
                let isFirst = commands.allSatisfy { if case .prepare = $0 { false } else { true } }
                if isFirst {
                    name = Self.name(prepared.count)
                    guard pq.PQsendPrepare(pointer, name, statement.sql, 0, nil) == 1 else { throw .broken(message) }
                    commands.append(.prepare(sql: statement.sql))
                }
            }
        }
        let count = Int32(statement.parameters.count)
        let lengths = statement.parameters.map { Int32($0.count) }
        let formats = [Int32](repeating: 1, count: statement.parameters.count)
        let sent = Self.withPointers(statement.parameters) { values in
            if let name {
                pq.PQsendQueryPrepared(pointer, name, count, values, lengths, formats, 1)
            } else {
                pq.PQsendQueryParams(pointer, statement.sql, count, nil, values, lengths, formats, 1)
            }
        }
        guard sent == 1 else { throw .broken(message) }
        commands.append(.execute)
    }

    private static func withPointers<R>(
        _ parameters: [[UInt8]], _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> R
    ) -> R {
        func collect(_ index: Int, _ pointers: inout [UnsafePointer<CChar>?]) -> R {
            guard index < parameters.count else { return body(pointers) }
            return parameters[index].withUnsafeBytes { bytes in
                // A null pointer would be the value NULL, also for an empty text.
                let empty = UnsafeRawPointer(bitPattern: 1)
                pointers.append((bytes.baseAddress ?? empty)?.assumingMemoryBound(to: CChar.self))
                return collect(index + 1, &pointers)
            }
        }
        var pointers: [UnsafePointer<CChar>?] = []
        return collect(0, &pointers)
    }

    private static func failure(_ result: OpaquePointer) -> PostgresFailure {
        func field(_ code: Character) -> String {
            pq.PQresultErrorField(result, Int32(code.asciiValue ?? 0)).map { String(cString: $0) } ?? ""
        }
        return .refused(state: field("C"), text: field("M"))
    }

    /// Sends and receives until a result can be taken.
    private func wait(until deadline: ContinuousClock.Instant) throws(PostgresFailure) {
        while true {
            let unsent = pq.PQflush(pointer)
            guard unsent >= 0 else { throw .broken(message) }
            guard pq.PQisBusy(pointer) == 1 else { return }
            let remaining = deadline - .now
            guard remaining > .zero else { throw .broken("no answer in time") }
            var state = pollfd(
                fd: pq.PQsocket(pointer), events: Int16(unsent == 1 ? POLLIN | POLLOUT : POLLIN), revents: 0)
            _ = poll(&state, 1, remaining.pollTimeout)
            if state.revents & ~Int16(POLLOUT) != 0, pq.PQconsumeInput(pointer) == 0 { throw .broken(message) }
        }
    }

    // MARK: Notifications

    var socket: Int32 { pq.PQsocket(pointer) }

    /// Reads the notifications that arrived.
    func takeNotifications() throws(PostgresFailure) {
        guard pq.PQconsumeInput(pointer) == 1, pq.PQstatus(pointer) == CONNECTION_OK else { throw .broken(message) }
        while let notification = pq.PQnotifies(pointer) { pq.PQfreemem(notification) }
    }
}

extension Duration {
    /// Milliseconds for `poll`, rounded up, at most a minute.
    var pollTimeout: Int32 {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = components
        return seconds >= 60 ? 60_000 : Int32(seconds * 1_000 + attoseconds / 1_000_000_000_000_000) + 1
    }
}
