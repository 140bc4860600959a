import AsyncHTTPClient
import Foundation
import MQTT
import NIOCore
import NIOHTTP1
import ServiceKit
import Workouts

/// Uploads workouts over HTTP, each as one file in a form. Whatever happens comes back as an outcome.
///
/// The form has the fields `file`, `name` (of the workout) and `external_id` (user/session).
struct UploadTarget: Sendable {
    /// By then an answer has begun, or it is given up; the file has its own time besides.
    static let patience = Duration.seconds(60)
    /// Of a line that gets a file through, in bytes a second.
    static let slowestLine = 16_384
    /// Longer files are not sent, in bytes: forty hours with an item a second have half of it as JSON.
    static let sizeLimit = 64 << 20
    /// What a server asks for beyond this, in seconds, is not waited for.
    static let longestPause = 86_400.0

    let url: String
    let format: ExportFormat
    let credentials: UploadCredentials
    let clock: any WallClock
    let client: HTTPClient
    let patience: Duration
    var slowestLine = Self.slowestLine
    let encode: @Sendable (ExportFormat, ExportedWorkout) -> [UInt8]

    /// How a client has to be set up.
    static var http: HTTPClient.Configuration {
        var pool = HTTPClient.Configuration.ConnectionPool()
        // The machine decides when to try again.
        pool.retryConnectionEstablishment = false
        // Credentials are for one address.
        return HTTPClient.Configuration(redirectConfiguration: .disallow, connectionPool: pool)
    }

    init(
        _ configuration: ExportConfiguration.Upload, clock: any WallClock, client: HTTPClient,
        patience: Duration = Self.patience,
        encode: @escaping @Sendable (ExportFormat, ExportedWorkout) -> [UInt8]
    ) {
        url = configuration.url
        format = configuration.format
        credentials = UploadCredentials(folder: configuration.credentials)
        self.clock = clock
        self.client = client
        self.patience = patience
        self.encode = encode
    }

    /// Whether workouts of a user are uploaded at all.
    func takes(_ user: User) -> Bool { credentials.has(user) }

    /// Uploads a workout.
    ///
    /// - Parameter key: the `Idempotency-Key`, the same however often the workout is sent.
    func deliver(_ workout: ExportedWorkout, key: String) async -> Delivery {
        let user = workout.workout.user
        do {
            let (message, size) = try request(workout, key, try credentials.authorization(of: user))
            let time = patience + .seconds(Double(size) / Double(slowestLine))
            return outcome(try await answer(to: message, within: time), user)
        } catch UploadCredentials.Problem.unusable(let reason) {
            return .refused(reason)
        } catch let error as TooLarge {
            return .refused("\(error)")
        } catch UploadCredentials.Problem.unreadable(let reason) {
            return .failed(reason)
        } catch let error as HTTPClientError where error == .deadlineExceeded {
            return .failed("\(host): no answer in time")
        } catch let error as HTTPClientError {
            return .failed("\(host): \(error.shortDescription)")
        } catch let error as IOError {
            return .failed("\(host): \(String(cString: strerror(error.errnoCode)))")
        } catch {
            // Of TLS, for one. What such errors say of themselves is for whoever built the library.
            return .failed("\(host): no connection (\(type(of: error)))")
        }
    }

    private struct TooLarge: Error, CustomStringConvertible {
        let count: Int

        var description: String { "the file has \(count) bytes, and more than \(sizeLimit) are not uploaded" }
    }

    /// The request, and the size of its file.
    private func request(
        _ workout: ExportedWorkout, _ key: String, _ authorization: Secret
    ) throws -> (HTTPClientRequest, Int) {
        let file = encode(format, workout)
        guard file.count <= Self.sizeLimit else { throw TooLarge(count: file.count) }
        let record = workout.workout
        let form = MultipartForm(
            [
                .init("file", file: ExportFile(record, format).name, mediaType: format.mediaType, file),
                .init("name", record.name),
                .init("external_id", "\(record.user)/\(record.session)"),
            ], boundary: "pacebus-\(record.session)")
        var message = HTTPClientRequest(url: url)
        message.method = .POST
        message.headers.add(name: "Authorization", value: authorization.value)
        message.headers.add(name: "Content-Type", value: form.mediaType)
        message.headers.add(name: "Idempotency-Key", value: key)
        message.headers.add(name: "User-Agent", value: "pacebus/\(pacebusVersion)")
        message.body = .bytes(form.bytes)
        return (message, file.count)
    }

    /// What came within the time, without its body: the status has said it all.
    private func answer(to message: HTTPClientRequest, within time: Duration) async throws -> Answer {
        let response = try await client.execute(message, timeout: TimeAmount(time))
        return Answer(status: Int(response.status.code), retryAfter: response.headers.first(name: "Retry-After"))
    }

    private struct Answer {
        let status: Int
        let retryAfter: String?
    }

    private func outcome(_ answer: Answer, _ user: User) -> Delivery {
        // Its own words for the status may be anything.
        let phrase = HTTPResponseStatus(statusCode: answer.status).reasonPhrase
        let title = phrase.isEmpty ? "\(answer.status)" : "\(answer.status) \(phrase)"
        switch answer.status {
        case 200..<300, 409: return .delivered()
        case 300..<400: return .refused("\(title): the address is another, and credentials are not sent there")
        case 401: return .refused("\(title): the credentials of \(user) are not accepted")
        case 403: return .refused("\(title): \(user) may not upload there")
        case 404, 405, 410: return .refused("\(title): uploads are not taken at this address")
        case 408, 425, 429, 500..<600:
            let pause = answer.retryAfter.flatMap(RetryAfter.init)?.seconds(from: clock.now)
            return .failed(title, retryAfter: pause.map { min($0, Self.longestPause) })
        case 413: return .refused("\(title): the file is too large")
        case 400..<500: return .refused("\(title): the file is not accepted")
        default: return .failed("\(title): not an answer to an upload")
        }
    }

    /// Whom a reason is about; nothing of the address that may be secret.
    private var host: String { URL(string: url)?.host ?? "upload" }
}
