import ArgumentParser
import Foundation
package import ServiceKit
package import ServiceLifecycle
import Workouts

extension ServiceRunner {
    /// Runs an interactive command until it ends or Ctrl-C interrupts it; a second Ctrl-C ends the process at once.
    ///
    /// - Throws: what a service throws; `ExitCode` 130 instead of ``Interrupted``, after its text on standard error.
    package static func runCommand(
        _ name: String, _ base: BaseOptions, drainLimit: Duration = .seconds(5),
        build: (ServiceContext) async throws -> [any Service]
    ) async throws {
        var base = base
        // HTTP_PORT in the environment belongs to a service on the same machine.
        base.httpPort = base.httpPort ?? "0"
        let secondInterrupt = SecondInterrupt()
        defer { withExtendedLifetime(secondInterrupt) {} }
        do {
            try await run(name, base, drainLimit: drainLimit, build: build)
        } catch let interrupted as Interrupted {
            Terminal.standard.status("\(interrupted)\n")
            throw ExitCode(SecondInterrupt.status)
        } catch  where "\(error)".hasControlCharacters {
            throw PrintableError(description: "\(error)".escapingControlCharacters(except: "\n"))
        }
    }
}

/// An error whose text holds text of another account. ArgumentParser prints it.
private struct PrintableError: Error, CustomStringConvertible {
    let description: String
}

/// Ends the process at the second Ctrl-C. Queue files keep everything that is not sent.
private struct SecondInterrupt {
    /// What shells report for a process that SIGINT ended.
    static let status: Int32 = 130
    /// A shell that passes Ctrl-C on repeats it within this time.
    private static let echo = Duration.seconds(1)

    private let source: any DispatchSourceSignal

    init() {
        source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
        // The source calls its handler one at a time.
        nonisolated(unsafe) var first: ContinuousClock.Instant?
        source.setEventHandler {
            let now = ContinuousClock.now
            if let first, now - first > Self.echo { _exit(Self.status) }
            first = first ?? now
        }
        source.resume()
    }
}
