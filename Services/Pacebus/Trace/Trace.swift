import ArgumentParser
import Bus
import Foundation
import ServiceKit
import Storage
import Workouts

extension Pacebus {
    struct Trace: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "trace", abstract: "Tells an operator everything that happened to one workout.",
            discussion: """
                Reads the stores and logs of all services on this machine and needs no broker. Times are in UTC. Run it in the \
                folder of compose/up, as an account that may read its folder data.

                With systemd: journalctl --output=cat --unit='pacebus*' | pacebus trace SESSION --log -
                """)

        @Argument(help: "The session, a UUID.")
        var session: SessionID

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

        func run() throws {
            let data = data
            let address = try postgresAddress()
            var trace = StoreTrace(session) { service throws(StoreError) in
                if let address { return try StoreReader(address, service: service) }
                return try StoreReader(path: "\(data)/\(service).sqlite")
            }
            trace.run()
            var story = trace.story
            let logs = LogTrace(session)
            for log in try self.logs() { story.add(logs.events(in: log)) }
            guard story.isKnown else {
                let unread = story.unread.map { "\n\($0)" }.joined()
                throw ValidationError(
                    "no store and no log knows session \(session); check the id, --data and --store-url\(unread)")
            }
            story.sort()
            print(json ? String(decoding: JSONCoding.encode(story), as: UTF8.self) : story.text)
        }

        private func postgresAddress() throws -> PostgresAddress? {
            guard let storeURL else { return nil }
            let password = ProcessInfo.processInfo.environment["STORE_PASSWORD_FILE"]
            return try PostgresAddress(storeURL, caFile: storeCAFile) {
                password.flatMap { try? String(contentsOfFile: $0, encoding: .utf8) }?
                    .trimmingCharacters(in: .newlines)
            }
        }

        private func logs() throws -> [Data] {
            guard log.isEmpty else {
                return try log.map { path in
                    path == "-"
                        ? try FileHandle.standardInput.readToEnd() ?? Data()
                        : try Data(contentsOf: URL(filePath: path), options: .mappedIfSafe)
                }
            }
            let folder = URL(filePath: data).appending(path: "log")
            let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
            return try files.filter { $0.contains(".log") }.map {
                try Data(contentsOf: folder.appending(path: $0), options: .mappedIfSafe)
            }
        }
    }
}
