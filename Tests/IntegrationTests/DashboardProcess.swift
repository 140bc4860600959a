import Bus
import Foundation
import Synchronization
import TestSupport
import Workouts

/// A dashboard process that keeps its port over restarts, and the browser of one person.
final class DashboardProcess: Sendable {
    private let port: UInt16
    private let folder: TemporaryFolder
    private let arguments: [String]
    private let environment: [String]
    private let process = Mutex<ChildProcess?>(nil)

    /// - Parameters:
    ///   - folder: the folder of the store and the log.
    ///   - broker: the broker's URL.
    ///   - webFolder: the folder that `compose/test` makes; by default one of the templates alone, which need no build.
    init(
        in folder: TemporaryFolder, broker: String, environment: [String] = [], webFolder: String? = nil
    ) async throws {
        self.folder = folder
        self.environment = environment
        port = try LoopbackSocket.freePort()
        arguments = [
            "--mqtt-url", broker, "--store-url", "sqlite:\(folder.file("dashboard.sqlite"))", "--web-port", "\(port)",
            "--web-folder", webFolder ?? folder.file("web"),
        ]
        try Self.copyTemplates(to: folder.file("web"))
        try start()
        guard await eventually({ LoopbackSocket.accepts(port: port) }) else {
            throw ComposeFolder.Failure(text: "the dashboard does not listen: \(log)")
        }
    }

    /// A dashboard that another process runs on a loopback port.
    ///
    /// - Parameter folder: the folder of the browsers' cookies.
    init(port: UInt16, cookiesIn folder: TemporaryFolder) {
        (self.port, self.folder, arguments, environment) = (port, folder, [], [])
    }

    /// Makes a web folder without assets: the repository's templates need no build.
    static func copyTemplates(to folder: String) throws {
        let templates = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Services/Dashboard/Web/templates").standardizedFileURL.path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: templates, toPath: folder + "/templates")
        try "test".write(toFile: folder + "/version", atomically: true, encoding: .utf8)
    }

    deinit {
        process.withLock { $0?.end(SIGTERM) }
    }

    private func start() throws {
        let child = try Installation.run(
            "dashboard", arguments, environment: environment, log: folder.file("dashboard.log"))
        process.withLock { $0 = child }
    }

    /// `kill -9` and immediately a new process on the same store.
    func kill() throws {
        process.withLock { $0?.end(SIGKILL) }
        try start()
    }

    var log: String { (try? String(contentsOfFile: folder.file("dashboard.log"), encoding: .utf8)) ?? "" }

    var url: String { "http://127.0.0.1:\(port)" }

    /// A response; status 0 if there was none.
    struct Answer {
        var status = 0
        var body = Data()
    }

    /// Sends a form in the name of a person's browser, which keeps cookies.
    func post(_ path: String, form: [String: String], as browser: String) async throws -> Answer {
        try await post(path, form.flatMap { ["--data-urlencode", "\($0.key)=\($0.value)"] }, browser)
    }

    func post(_ path: String, json: String, as browser: String) async throws -> Answer {
        try await post(path, ["-H", "Content-Type: application/json", "--data-binary", json], browser)
    }

    private func post(_ path: String, _ arguments: [String], _ browser: String) async throws -> Answer {
        let jar = folder.file("\(browser).cookies")
        let command = [
            "curl", "-sS", "-m", "10", "-b", jar, "-c", jar, "-H", "Sec-Fetch-Site: same-origin", "-w",
            "\n%{http_code}",
        ]
        let url = "http://127.0.0.1:\(port)\(path)"
        guard let output = try? await ChildProcess.output(of: command + arguments + [url]),
            let end = output.lastIndex(of: UInt8(ascii: "\n")),
            let status = Int(String(decoding: output[(end + 1)...], as: UTF8.self))
        else { return Answer() }
        return Answer(status: status, body: output[..<end])
    }

    /// What a GET brings until its end, and of a stream within some seconds.
    func read(_ path: String, as browser: String, seconds: Int = 10) async throws -> String {
        let log = folder.file("\(UUID().uuidString).log")
        let command = ["curl", "-s", "-N", "-m", "\(seconds)", "-b", folder.file("\(browser).cookies")]
        // A stream that goes on when the time is over is no failure.
        _ = try await ChildProcess(command + ["http://127.0.0.1:\(port)\(path)"], log: log).finish()
        return try String(contentsOfFile: log, encoding: .utf8)
    }

    func get(_ path: String, as browser: String) async throws -> Answer { try await post(path, ["-G"], browser) }

    func logIn(_ user: String, _ password: String) async throws -> Int {
        var status = 0
        // The store may not be loaded yet.
        _ = try await eventually {
            status = try await post("/login", form: ["name": user, "password": password], as: user).status
            return status != 0 && status != 503
        }
        return status
    }

    /// Posts a press like a page: until it is answered, each time with its age.
    ///
    /// - Parameter sent: runs beside each POST.
    func press(
        _ type: String, _ fields: String = "", to path: String, pressed: Date, as user: String,
        sent: (Int) async throws -> Void = { _ in }
    ) async throws -> Reply {
        struct Body: Decodable { let reply: Reply }
        let id = CommandID(UUID())
        for attempt in 0..<100 {
            let json = #"{"id":"\#(id)","type":"\#(type)","age":\#(Date().timeIntervalSince(pressed))\#(fields)}"#
            async let posted = post(path, json: json, as: user)
            try await sent(attempt)
            let answer = try await posted
            if answer.status == 200 {
                return try JSONCoding.decode(Body.self, from: answer.body).reply
            }
            guard [0, 202, 503].contains(answer.status) else {
                throw ComposeFolder.Failure(
                    text: "\(type): \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
            }
            _ = await eventually { LoopbackSocket.accepts(port: port) }
        }
        throw ComposeFolder.Failure(text: "no answer to \(type): \(log)")
    }
}
