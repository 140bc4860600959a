import AsyncHTTPClient
import Foundation
import NIOCore
import NIOSSL

extension APNsClient {
    /// What went wrong with a connection. People's devices are told: no address stands in it, and no path.
    static func reason(_ error: any Error) -> String {
        switch error {
        case let error as HTTPClientError where error == .deadlineExceeded: "no answer in time"
        case let error as HTTPClientError: error.shortDescription
        case let error as IOError: String(cString: strerror(error.errnoCode))
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            "the certificate is for another name"
        case is NIOSSLError:
            "\(error)".contains("CERTIFICATE_VERIFY_FAILED")
                ? "the certificate is not trusted" : "no connection over TLS"
        default: "no connection (\(type(of: error)))"
        }
    }
}
