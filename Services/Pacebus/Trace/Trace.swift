import ArgumentParser
import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import Workouts

extension Pacebus {
    struct Trace: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "trace", abstract: "Prints what happened to one workout, from stores and logs.",
            discussion: """
                With --user instead of a session, lists the sessions of this user, the last changed first.

                Reads the stores and logs of all services on this machine and needs no broker. Times are in UTC. Run it in the \
                folder of compose/up, as an account that may read its folder data.

                With systemd: journalctl --output=cat --grep SESSION | pacebus trace SESSION --log -
                """)

        @Argument(help: "The session, a UUID.")
        var session: SessionID?

        @Option(help: "The user whose sessions to list.")
        var user: User?

        @Option(help: "The folder with the stores, and with the logs in its folder log.")
        var data = "data"

        @Option(help: "A PostgreSQL database with the stores, postgres://USER@HOST/NAME. (default: SQLite in --data)")
        var storeURL: String?

        @Option(help: "A certificate authority for --store-url.")
        var storeCAFile: String?

        @Option(help: "A log to read instead of those in --data; - is the standard input. Repeatable.")
        var log: [String] = []

        @Flag(help: "Prints JSON.")
        var json = false

        func validate() throws {
            guard (session == nil) != (user == nil) else { throw ValidationError("name a session, or a --user") }
        }

        func run() throws {
            let data = data
            let address = try postgresAddress()
            func open(_ service: String) throws(StoreError) -> StoreReader {
                if let address { return try StoreReader(address, service: service) }
                return try StoreReader(path: "\(data)/\(service).sqlite")
            }
            if let user { return try list(SessionList(of: user, in: open("session-engine"))) }
            guard let session else { return }
            try tell(StoreTrace(session, open: open), session)
        }

        private func list(_ list: SessionList) throws {
            guard json || !list.sessions.isEmpty else {
                throw ValidationError("\(list.user) has no sessions; check the name, --data and --store-url")
            }
            print(json ? String(decoding: JSONCoding.encode(list), as: UTF8.self) : list.text)
        }

        private func tell(_ stores: StoreTrace, _ session: SessionID) throws {
            var trace = stores
            trace.run()
            var story = trace.story
            let logs = LogTrace(session)
            for path in self.logs() {
                do {
                    let log =
                        path == "-" ? FileHandle.standardInput : try FileHandle(forReadingFrom: URL(filePath: path))
                    story.add(try logs.events(in: log))
                } catch {
                    story.unread.append("\(path): \(error.localizedDescription)")
                }
            }
            guard story.isKnown else {
                let unread = story.unread.map { "\n\($0)" }.joined()
                throw ValidationError(
                    "session \(session) is in no store and no log; check the id, --data and --store-url\(unread)")
            }
            story.sort()
            print(json ? String(decoding: JSONCoding.encode(story), as: UTF8.self) : story.text)
        }

        private func postgresAddress() throws -> PostgresAddress? {
            guard let storeURL else { return nil }
            let file = ProcessInfo.processInfo.environment["STORE_PASSWORD_FILE"].map { PasswordFile(path: $0) }
            do {
                let password = try file?.read().value
                let address = try PostgresAddress(storeURL, caFile: storeCAFile) { password }
                guard !address.needsCAFile else {
                    throw ValidationError(
                        "--store-url names a server that is not on loopback, which requires --store-ca-file")
                }
                return address
            } catch let problem as PostgresAddress.Problem {
                throw ValidationError("--store-url: \(problem.text)")
            } catch let problem as PasswordFile.Problem {
                throw ValidationError("STORE_PASSWORD_FILE: \(problem)")
            }
        }

        /// The paths of the logs to read.
        private func logs() -> [String] {
            guard log.isEmpty else { return log }
            let folder = "\(data)/log"
            let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return files.filter { $0.hasSuffix(".log") || $0.hasSuffix(".log.1") }.sorted().map { "\(folder)/\($0)" }
        }
    }
}
