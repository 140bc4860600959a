import Foundation
import Synchronization
import TestSupport

/// A dashboard process that keeps its port and its key over restarts, and a browser without a screen for each person.
final class DashboardProcess: Sendable {
    let port: UInt16
    private let folder: TemporaryFolder
    private let arguments: [String]
    private let environment: [String]
    private let process = Mutex<ChildProcess?>(nil)

    /// - Parameters:
    ///   - folder: the folder of key, cookies and log.
    ///   - broker: the broker's URL.
    ///   - webFolder: the folder that `compose/test` makes; without it there are no pages.
    init(
        in folder: TemporaryFolder, broker: String, environment: [String] = [], arguments: [String] = [],
        webFolder: String? = nil
    ) async throws {
        self.folder = folder
        self.environment = environment
        port = try LoopbackSocket.freePort()
        let key = folder.file("login.key")
        if !FileManager.default.fileExists(atPath: key) {
            try folder.write(String(repeating: "5e", count: 32), to: "login.key")
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
        }
        self.arguments =
            [
                "--mqtt-url", broker, "--web-port", "\(port)", "--login-key-file", key, "--web-folder",
                webFolder ?? folder.file("web"),
            ] + arguments
        try start()
        guard await eventually({ LoopbackSocket.accepts(port: port) }) else {
            throw ComposeFolder.Failure(text: "the dashboard does not listen: \(log)")
        }
    }

    deinit {
        process.withLock { $0?.end(SIGTERM) }
    }

    private func start() throws {
        let child = try Installation.run(
            "dashboard", arguments, environment: environment, log: folder.file("dashboard-\(port).log"))
        process.withLock { $0 = child }
    }

    /// `kill -9` and immediately a new process.
    func kill() throws {
        process.withLock { $0?.end(SIGKILL) }
        try start()
    }

    var log: String { (try? String(contentsOfFile: folder.file("dashboard-\(port).log"), encoding: .utf8)) ?? "" }

    /// The process id.
    var id: Int32 { process.withLock { $0?.id ?? 0 } }

    var url: String { "http://127.0.0.1:\(port)" }

    /// A response; status 0 if there was none.
    struct Answer {
        var status = 0
        var body = Data()
    }

    /// Sends a request in the name of a person's browser, which keeps cookies.
    private func send(_ path: String, _ arguments: [String], _ browser: String) async throws -> Answer {
        let jar = folder.file("\(browser).cookies")
        let command = [
            "curl", "-sS", "-m", "10", "-b", jar, "-c", jar, "-H", "Sec-Fetch-Site: same-origin", "-w",
            "\n%{http_code}",
        ]
        guard let output = try? await ChildProcess.output(of: command + arguments + [url + path]),
            let end = output.lastIndex(of: UInt8(ascii: "\n")),
            let status = Int(String(decoding: output[(end + 1)...], as: UTF8.self))
        else { return Answer() }
        return Answer(status: status, body: output[..<end])
    }

    func get(_ path: String, as browser: String) async throws -> Answer { try await send(path, [], browser) }

    func logIn(_ user: String, _ password: String) async throws -> Int {
        let form = ["--data-urlencode", "name=\(user)", "--data-urlencode", "password=\(password)"]
        return try await send("/login", form, user).status
    }

    struct Reader: Decodable, Equatable {
        let user: String
        let viewer: Bool
    }

    /// Who the browser's login is; `nil` without one, or while ended logins are unknown.
    func reader(_ browser: String) async throws -> Reader? {
        let answer = try await get("/me", as: browser)
        return answer.status == 200 ? try JSONDecoder().decode(Reader.self, from: answer.body) : nil
    }
}
