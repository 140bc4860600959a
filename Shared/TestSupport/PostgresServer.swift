import Foundation
import Synchronization

/// A PostgreSQL server in a temporary folder, on its socket and a loopback port: one for all tests of a process, or one of a
/// test's own. It ends with the process.
package final class PostgresServer: Sendable {
    /// The socket's folder.
    package let folder: TemporaryFolder
    package let port: UInt16
    private let process: ChildProcess
    private let databases = Mutex(0)

    private static let programs = "/usr/lib/postgresql"
    private static let started = Task { try await PostgresServer() }
    /// The servers to end at exit.
    private static let running = Mutex<[PostgresServer]>([])

    /// A role that may log in over TLS and with a password alone.
    package static let guarded = "guarded"

    /// The authority of the server's certificate, which is for `localhost`.
    package var caFile: String { folder.file("data/server.crt") }

    /// Whether PostgreSQL is installed; prints a line if not.
    package static let isInstalled: Bool = {
        if folderOfPrograms != nil { return true }
        print("tests with PostgreSQL: skipped, install postgresql")
        return false
    }()

    package static var shared: PostgresServer {
        get async throws { try await started.value }
    }

    private static var folderOfPrograms: String? {
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: programs)) ?? []
        return versions.compactMap { Int($0) }.max().map { "\(programs)/\($0)/bin" }
    }

    /// Starts a server of a test's own, for settings that change others' tests.
    package init() async throws {
        guard let programs = Self.folderOfPrograms else { throw ChildProcess.Failure(text: "PostgreSQL is missing") }
        folder = try TemporaryFolder()
        port = try LoopbackSocket.freePort()
        // As root, PostgreSQL refuses to run.
        var account: [String] = []
        if geteuid() == 0, let postgres = getpwnam("postgres") {
            account = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
            chown(folder.path, postgres.pointee.pw_uid, postgres.pointee.pw_gid)
        }
        try await ChildProcess.run(
            account + [
                "\(programs)/initdb", "-D", folder.file("data"), "--no-sync", "--auth=trust", "--encoding=UTF8",
                "--locale=C", "--username=pacebus",
            ], log: folder.file("initdb.log"))
        // The certificate is its own authority, and of this name alone.
        try await ChildProcess.run(
            account + [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-days",
                "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
                folder.file("data/server.key"), "-out", folder.file("data/server.crt"),
            ], log: folder.file("openssl.log"))
        let rules = folder.file("data/pg_hba.conf")
        let others = try String(contentsOfFile: rules, encoding: .utf8)
        try Data(
            "hostssl all \(Self.guarded) 127.0.0.1/32 scram-sha-256\nhost all \(Self.guarded) all reject\n\(others)"
                .utf8
        )
        .write(to: URL(filePath: rules), options: [])
        process = try ChildProcess(
            account + [
                "\(programs)/postgres", "-D", folder.file("data"), "-k", folder.path, "-p", "\(port)",
                "-c", "listen_addresses=127.0.0.1", "-c", "ssl=on", "-c", "fsync=off", "-c", "shared_buffers=16MB",
            ], log: folder.file("postgres.log"))
        guard await eventually({ LoopbackSocket.accepts(port: port) }) else {
            throw ChildProcess.Failure(text: "PostgreSQL does not listen")
        }
        // It accepts statements a little later.
        var isReady = false
        for _ in 0..<100 where !isReady {
            isReady = (try? await run("SELECT 1")) != nil
        }
        let isFirst = Self.running.withLock { servers in
            servers.append(self)
            return servers.count == 1
        }
        guard isFirst else { return }
        atexit {
            for server in PostgresServer.running.withLock(\.self) {
                server.process.end(SIGQUIT)
                try? FileManager.default.removeItem(atPath: server.folder.path)
            }
        }
    }

    /// Creates a database and returns its name.
    package func createDatabase() async throws -> String {
        let name = databases.withLock { count in
            count += 1
            return "test\(count)"
        }
        try await run("CREATE DATABASE \(name)")
        return name
    }

    /// Runs a statement as the superuser and returns what it prints.
    @discardableResult
    package func run(_ sql: String, in database: String = "postgres") async throws -> String {
        let output = folder.file("psql-\(UUID().uuidString)")
        try await ChildProcess.run(
            [
                "psql", "-h", folder.path, "-p", "\(port)", "-U", "pacebus", "-d", database, "-XqAt", "-v",
                "ON_ERROR_STOP=1", "-c", sql,
            ], log: output)
        defer { try? FileManager.default.removeItem(atPath: output) }
        return try String(contentsOfFile: output, encoding: .utf8)
    }

    /// The URL of a database on the socket, or through another port.
    package func url(_ database: String, port: UInt16? = nil) -> String {
        guard let port else { return "postgres://pacebus@/\(database)?host=\(folder.path)&port=\(self.port)" }
        return "postgres://pacebus@127.0.0.1:\(port)/\(database)"
    }
}
