import Foundation

/// A PostgreSQL database: its servers, the account, and how the connection is secured.
///
/// To loopback and to a socket the connection is plain unless there is a CA file; to all other servers it is TLS, and the
/// server's certificate has to be of that authority and of the server's name.
package struct PostgresAddress: Hashable, Sendable {
    /// A server: `name` is a host's name, its address, or the folder of a socket.
    package struct Host: Hashable, Sendable {
        package let name: String
        package let port: UInt16

        var isLocal: Bool {
            name.hasPrefix("/") || name == "localhost" || name == "::1" || name.hasPrefix("127.")
        }
    }

    package let hosts: [Host]
    package let user: String
    package let database: String
    /// libpq's `target_session_attrs`: `read-write` finds the primary of several servers.
    package let target: String
    package var caFile: String?
    /// Reads the password on each connect, so that it can change. A closure is printed by no log.
    private let password: Password

    private struct Password: Hashable, Sendable, CustomStringConvertible {
        let read: @Sendable () -> String?
        var description: String { "•••" }
        static func == (left: Password, right: Password) -> Bool { true }
        func hash(into hasher: inout Hasher) {}
    }

    /// Why a URL is invalid. The text quotes no part that may be a password.
    package enum Problem: Error, Equatable {
        case invalid(String)

        package var text: String {
            switch self {
            case .invalid(let text): text
            }
        }
    }

    /// Reads `postgres://USER@HOST[:PORT][,HOST…]/DATABASE[?target_session_attrs=read-write]`; of a socket
    /// `postgres://USER@/DATABASE?host=/FOLDER[&port=PORT]`.
    package init(
        _ text: String, caFile: String? = nil, password: @escaping @Sendable () -> String? = { nil }
    ) throws(Problem) {
        guard let scheme = ["postgres://", "postgresql://"].first(where: text.hasPrefix) else {
            throw .invalid("does not begin with postgres://")
        }
        let parts = text.dropFirst(scheme.count).split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts[0].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let authority = path[0].split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        guard authority.count == 2, let user = authority[0].removingPercentEncoding, !user.isEmpty else {
            throw .invalid("names no user")
        }
        guard !authority[0].contains(":"), !authority[1].contains("@") else {
            throw .invalid("contains a password; write it to a file and name that in STORE_PASSWORD_FILE")
        }
        guard path.count == 2, let database = path[1].removingPercentEncoding, !database.isEmpty else {
            throw .invalid("names no database")
        }
        var options = try Self.options(parts.count == 2 ? parts[1] : "")
        var hosts: [Host] = []
        if let folder = options.removeValue(forKey: "host") {
            guard authority[1].isEmpty, folder.hasPrefix("/") else {
                throw .invalid("has a host that is not a folder")
            }
            let port = options.removeValue(forKey: "port") ?? "5432"
            guard let port = UInt16(port) else { throw .invalid("has a port that is not a number") }
            hosts = [Host(name: folder, port: port)]
        } else {
            for part in authority[1].split(separator: ",", omittingEmptySubsequences: false) {
                hosts.append(try Self.host(part))
            }
        }
        target = options.removeValue(forKey: "target_session_attrs") ?? "read-write"
        guard ["any", "read-write", "primary"].contains(target) else {
            throw .invalid("has a target_session_attrs other than read-write, primary and any")
        }
        if let other = options.keys.min() { throw .invalid("has the unknown parameter '\(other)'") }
        (self.hosts, self.user, self.database, self.caFile) = (hosts, user, database, caFile)
        self.password = Password(read: password)
    }

    private static func options(_ text: Substring) throws(Problem) -> [String: String] {
        var options: [String: String] = [:]
        for part in text.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, let value = pair[1].removingPercentEncoding else {
                throw .invalid("has a parameter without a value")
            }
            options[String(pair[0])] = value
        }
        return options
    }

    private static func host(_ text: Substring) throws(Problem) -> Host {
        var name = text
        var port: UInt16? = 5432
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { throw .invalid("has an address without its ']'") }
            name = text[text.index(after: text.startIndex)..<end]
            let rest = text[text.index(after: end)...]
            if !rest.isEmpty { port = rest.hasPrefix(":") ? UInt16(rest.dropFirst()) : nil }
        } else if let colon = text.lastIndex(of: ":") {
            name = text[..<colon]
            port = UInt16(text[text.index(after: colon)...])
        }
        guard let port else { throw .invalid("has a port that is not a number") }
        guard !name.isEmpty else { throw .invalid("names no host") }
        return Host(name: String(name), port: port)
    }

    /// Whether a CA file is missing: the password and the records would be readable on the network.
    package var needsCAFile: Bool { caFile == nil && !hosts.allSatisfy(\.isLocal) }

    /// The options of libpq for the connections of a service. They leave nothing to the environment.
    func options(service: String) -> [(String, String)] {
        var options = [
            ("host", hosts.map(\.name).joined(separator: ",")),
            ("port", hosts.map { "\($0.port)" }.joined(separator: ",")),
            ("user", user), ("dbname", database), ("target_session_attrs", target),
            ("sslmode", caFile == nil && !needsCAFile ? "disable" : "verify-full"),
            ("gssencmode", "disable"), ("client_encoding", "UTF8"), ("application_name", "pacebus \(service)"),
            ("connect_timeout", "2"), ("tcp_user_timeout", "4000"), ("keepalives_idle", "2"),
            ("keepalives_interval", "1"), ("keepalives_count", "2"), ("passfile", "/nonexistent"),
            (
                "options",
                "-csearch_path=\"\(service)\",pg_temp -cclient_min_messages=warning -clock_timeout=2s"
                    + " -cidle_in_transaction_session_timeout=2s -csynchronous_commit=on"
                    // A plan that reads a table from end to end would cost what the table holds.
                    + " -cenable_hashjoin=off -cenable_mergejoin=off -cenable_seqscan=off -cjit=off"
            ),
        ]
        if let caFile { options.append(("sslrootcert", caFile)) }
        if let password = password.read() { options.append(("password", password)) }
        return options
    }
}

extension PostgresAddress: CustomStringConvertible {
    package var description: String {
        let isSocket = hosts.first?.name.hasPrefix("/") == true
        let names = hosts.map { host in
            (host.name.contains(":") ? "[\(host.name)]" : host.name) + (host.port == 5432 ? "" : ":\(host.port)")
        }
        guard isSocket, let host = hosts.first else {
            return "postgres://\(user)@\(names.joined(separator: ","))/\(database)"
        }
        return "postgres://\(user)@/\(database)?host=\(host.name)" + (host.port == 5432 ? "" : "&port=\(host.port)")
    }
}
