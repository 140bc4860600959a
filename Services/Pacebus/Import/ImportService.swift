import Bus
import Client
import Foundation
import ServiceKit
import ServiceLifecycle
import Workouts

/// Uploads files one after the other, and waits until each is a workout or refused.
struct ImportService: Service {
    let context: ServiceContext
    let terminal: Terminal
    let user: User
    let files: [String]
    let importsDuplicates: Bool

    /// - Throws: ``ImportFailure`` or `Interrupted`.
    func run() async throws {
        var failed = 0
        for path in files {
            do {
                let status = try await upload(path)
                terminal.output("\(path): \(Self.text(status))\n")
                for remark in status.remarks ?? [] { terminal.output("\(path): \(remark)\n") }
                if status.status == .refused { failed += 1 }
            } catch let failure as ImportFailure {
                guard !failure.endsAll else { throw failure }
                terminal.status("\(path): \(failure)\n")
                failed += 1
            }
        }
        if failed > 0 { throw ImportFailure.refused(failed, of: files.count) }
    }

    private func upload(_ path: String) async throws -> ImportStatus {
        let content: Data
        do {
            content = try Data(contentsOf: URL(filePath: path))
        } catch {
            throw ImportFailure.unreadable(error.localizedDescription)
        }
        guard !content.isEmpty else { throw ImportFailure.unreadable("the file is empty") }
        var upload = FileUpload(
            user: user, name: URL(filePath: path).lastPathComponent, content: content,
            importsDuplicates: importsDuplicates, client: context.client, now: context.clock.moment)
        var line = ProgressLine(isInteractive: terminal.isInteractive)
        defer { terminal.progress(line.finish()) }
        return try await context.follow(upload.subscriptions) { event -> ImportStatus? in
            let now = context.clock.moment
            switch event {
            case .connected: upload.connected(now)
            case .disconnected: upload.disconnected()
            case .message(let message): try upload.receive(message, now)
            case .tick: if let text = line.update("\(path): \(upload.progress)", now) { terminal.progress(text) }
            case .stop: throw Interrupted("to continue, run the command again: what is imported is not imported twice")
            }
            if let status = upload.outcome { return status }
            await context.send(try upload.takeOutgoing(now))
            return nil
        }
    }

    private static func text(_ status: ImportStatus) -> String {
        if status.status == .refused { return status.reason ?? "refused" }
        guard !status.sessions.isEmpty else {
            return "skipped, it looks like session \(status.match.map { "\($0)" } ?? "?"); "
                + "to import it, add --duplicates import"
        }
        let noun = status.sessions.count == 1 ? "session" : "sessions"
        return "\(noun) \(status.sessions.map(\.description).joined(separator: ", "))"
    }
}

/// Why a file was not imported.
enum ImportFailure: Error, CustomStringConvertible {
    case unreadable(String)
    /// The service refuses the upload itself.
    case refusedUpload(Refusal)
    case noAnswer
    case refused(Int, of: Int)

    /// Whether the other files would fail too.
    var endsAll: Bool {
        switch self {
        case .unreadable, .refusedUpload: false
        case .noAnswer, .refused: true
        }
    }

    var description: String {
        switch self {
        case .unreadable(let reason): "cannot be read: \(reason)"
        case .refusedUpload(let refusal): refusal.message
        case .noAnswer:
            "importer does not answer for \(Int(FileUpload.timeout)) s; check that it runs, then run the command again"
        case .refused(let count, let total): "\(count) of \(total) files were not imported"
        }
    }
}
